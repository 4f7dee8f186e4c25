//! User-defined algorithms, such as Python classes, as a scenario describes them. The description suffices to read the
//! scenario and its records without the class.

use std::fmt;

use cwndlab_config::{fields, words, Custom, Faults, FieldType, Kind, Reader};
use cwndlab_control::Kind as AlgorithmKind;
use cwndlab_traffic::media::controls::is_of_the_tree;
use serde_json::{json, Map, Value};
use sha2::{Digest, Sha256};

use crate::schema::table::tables;

tables! {
    /// A user-defined algorithm.
    CLASS: ClassFields = "algorithm", "A user-defined algorithm.";
}

/// The file of a policy, or its contents.
static POLICY_FORM: Custom = Custom {
    accepts: "a file of `cwndlab.gym.Policy`, `\"policy.json\"`, or its contents",
    schema: || json!({ "type": ["string", "object"] }),
    canonical: Value::clone,
    python: "str | Mapping[str, Any]",
};

/// Names and defaults of parameters.
static PARAMETERS_FORM: Custom = Custom {
    accepts: "values by name; a number with a range is a table with `default`, `low` and `high`",
    schema: || {
        let number = json!({ "type": "number" });
        let ranged = json!({
            "type": "object",
            "properties": { "default": number, "low": number, "high": number },
            "required": ["default", "low", "high"],
            "additionalProperties": false,
        });
        json!({ "type": "object", "additionalProperties": { "anyOf": [{ "type": ["number", "boolean"] }, ranged] } })
    },
    canonical: Value::clone,
    python: "Mapping[str, Any]",
};

/// The keys of a number with a range.
const RANGED: [&str; 3] = ["default", "low", "high"];

fn is_ranged(default: &Value) -> bool {
    default.as_object().is_some_and(|table| {
        table.len() == RANGED.len() && RANGED.iter().all(|key| table.get(*key).is_some_and(Value::is_number))
    })
}

/// The description of a user-defined algorithm.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Name of the algorithm in the scenario.
    pub name: String,
    /// Name of the class in its language.
    pub class: String,
    /// Congestion avoidance, or a whole algorithm.
    pub kind: AlgorithmKind,
    /// Path of the source file.
    pub file: String,
    /// SHA-256 of the source, in hex.
    pub sha256: String,
    /// Names and defaults of the parameters: numbers, with a range or without, or Booleans.
    pub parameters: Map<String, Value>,
    /// It has a model of the path, instead of a window that losses drive.
    pub model_based: bool,
    /// It controls the rate of real-time media, and not a connection.
    pub is_media: bool,
    /// The document of a policy, which decides in place of a class.
    pub policy: Option<Value>,
}

impl Class {
    /// Whether the algorithm text `text` starts with the name of this class.
    #[must_use]
    pub fn is_named_by(&self, text: &str) -> bool {
        text.split(['+', '/', '(']).next().is_some_and(|name| name.trim() == self.name)
    }
}

/// A note for the records, independent of the folder of the file.
impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.policy.is_some() {
            return write!(f, "'{}' is a policy (SHA-256 {}…)", self.name, &self.sha256[..12]);
        }
        let file = self.file.rsplit(['/', '\\']).next().unwrap_or_default();
        let start = self.sha256.get(..12).unwrap_or(&self.sha256);
        if file.rsplit('.').next() == Some("rs") {
            return write!(f, "'{}' is the file {file} (SHA-256 {start}…)", self.name);
        }
        write!(f, "'{}' is the class {} of {file} (SHA-256 {start}…)", self.name, self.class)
    }
}

fields! {
    /// The fields of a user-defined algorithm.
    pub(crate) struct ClassFields {
        /// name of the class
        class: Option<String> = absent("a policy"),
        /// policy that decides in place of a class: a file of `cwndlab.gym.Policy`, relative to the scenario's, or its
        /// contents
        policy: Option<PolicyDocument> = absent("a class"),
        /// kind of the algorithm
        kind: ClassKind = "whole",
        /// source file
        file: String = absent("unknown", String::new()),
        /// SHA-256 of the source, in hex
        sha256: String = absent("unknown", String::new()),
        /// names and defaults of the parameters
        parameters: Parameters = absent("", Map::new()),
    }
}

words! {
    /// The kind of a user-defined algorithm.
    pub(crate) enum ClassKind {
        /// a whole algorithm
        Whole = "whole",
        /// a whole algorithm with a model of the path: its window may grow while it is unused, and recovery leaves it
        Model = "model",
        /// only congestion avoidance
        Growth = "growth",
        /// congestion control of real-time media, for the workload `adaptive-video`
        Media = "media",
    }
}

/// The document of a policy.
pub(crate) enum PolicyDocument {}

impl FieldType for PolicyDocument {
    type Value = Value;

    const KIND: Kind = Kind::Custom(&POLICY_FORM);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Value> {
        let policy = table.get(name)?;
        if !policy.is_object() {
            faults.add(table.at(name), "expected a file or a table", "write 'policy = \"policy.json\"'");
            return None;
        }
        Some(policy.clone())
    }
}

/// Names and defaults of parameters.
pub(crate) enum Parameters {}

impl FieldType for Parameters {
    type Value = Map<String, Value>;

    const KIND: Kind = Kind::Custom(&PARAMETERS_FORM);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Map<String, Value>> {
        let Some(given) = table.get(name)?.as_object() else {
            faults.add(table.at(name), "expected a table", "write 'parameters = { a = 1.0 }'");
            return None;
        };
        let is_valid = |default: &Value| default.is_number() || default.is_boolean() || is_ranged(default);
        for (key, _) in given.iter().filter(|(_, default)| !is_valid(default)) {
            faults.add(format!("{}.{key}", table.at(name)), "expected a number, true or false", "");
        }
        Some(given.clone())
    }
}

/// The table `algorithms`.
#[derive(Debug)]
pub enum Classes {}

impl FieldType for Classes {
    type Value = Vec<Class>;

    const KIND: Kind = Kind::Keyed(&CLASS);

    fn read(table: &Reader<'_>, name: &str, faults: &mut Faults) -> Option<Vec<Class>> {
        Some(read(table.get(name), faults))
    }
}

/// Reads the table `algorithms`; errors are added to `faults`.
pub fn read(value: Option<&Value>, faults: &mut Faults) -> Vec<Class> {
    let entries = match value {
        None => return Vec::new(),
        Some(Value::Object(entries)) => entries,
        Some(_) => {
            faults.add("algorithms", "expected a table", "write '[algorithms.mine]'");
            return Vec::new();
        }
    };
    entries.iter().filter_map(|(name, entry)| read_one(name, entry, faults)).collect()
}

fn read_one(name: &str, entry: &Value, faults: &mut Faults) -> Option<Class> {
    let table = Reader::new(entry, format!("algorithms.{name}"), &CLASS, faults)?;
    let letters = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    if !name.starts_with(|letter: char| letter.is_ascii_lowercase()) || !name.chars().all(letters) {
        faults.add(
            table.path.clone(),
            format!("'{name}' cannot be the name of an algorithm"),
            "a name has lower-case letters, digits and '-', and begins with a letter",
        );
    }
    if table.gives("policy") {
        for key in ["class", "kind", "file", "sha256", "parameters"].into_iter().filter(|key| table.gives(key)) {
            faults.add(table.at(key), "a policy has no such field", "leave it out");
        }
    } else if !table.gives("class") {
        faults.add(table.at("class"), "is missing", "write 'class = \"Mine\"', or 'policy = \"policy.json\"'");
    }
    let ClassFields { class, policy, kind, file, sha256, parameters } = table.read_valid(ClassFields::read, faults)?;
    let (model_based, is_media) = (matches!(kind, ClassKind::Model), matches!(kind, ClassKind::Media));
    if is_media && is_of_the_tree(name) {
        faults.add(
            table.path.clone(),
            format!("'{name}' is a control of the catalogue"),
            "give the class another name",
        );
    }
    let kind = match kind {
        ClassKind::Whole | ClassKind::Model | ClassKind::Media => AlgorithmKind::Whole,
        ClassKind::Growth => AlgorithmKind::CongestionAvoidance,
    };
    let name = name.to_owned();
    if let Some(policy) = policy {
        let sha256 = format!("{:x}", Sha256::digest(policy.to_string()));
        let (class, policy) = ("Policy".to_owned(), Some(policy));
        return Some(Class { name, class, kind, file, sha256, parameters, model_based, is_media, policy });
    }
    Some(Class { name, class: class?, kind, file, sha256, parameters, model_based, is_media, policy })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_named_by_the_first_part_of_a_text() {
        let mut faults = Faults::default();
        let table = json!({ "mine": { "class": "Mine", "file": "a/b/mine.py", "sha256": "0123456789abcdef", "parameters": { "a": 1.5 } } });
        let [mine] = &read(Some(&table), &mut faults)[..] else { panic!("one class is expected") };
        assert_eq!(faults.0, []);
        assert!(mine.is_named_by("mine") && mine.is_named_by("mine(a=2)/sack") && mine.is_named_by(" mine /rack"));
        assert!(!mine.is_named_by("mine2") && !mine.is_named_by("reno+mine"));
        assert_eq!(mine.to_string(), "'mine' is the class Mine of mine.py (SHA-256 0123456789ab…)");
    }

    #[test]
    fn faults_of_a_class_are_reported() {
        let mut faults = Faults::default();
        read(Some(&json!({ "My Own": { "class": "Mine" }, "a": { "parameters": { "b": "c" } } })), &mut faults);
        read(Some(&json!(3)), &mut faults);
        let messages: Vec<String> = faults.0.iter().map(ToString::to_string).collect();
        assert_eq!(
            messages,
            [
                "algorithms.My Own: 'My Own' cannot be the name of an algorithm\n  hint: a name has lower-case letters, digits and '-', and begins with a letter",
                "algorithms.a.class: is missing\n  hint: write 'class = \"Mine\"', or 'policy = \"policy.json\"'",
                "algorithms.a.parameters.b: expected a number, true or false",
                "algorithms: expected a table\n  hint: write '[algorithms.mine]'",
            ]
        );
    }

    /// Flows that name the class have no fault of their own.
    #[test]
    fn a_class_with_a_faulty_field_is_known() {
        let mut faults = Faults::default();
        let classes = read(Some(&json!({ "mine": { "class": "Mine", "kind": "part" } })), &mut faults);
        assert_eq!(classes.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["mine"]);
        let messages: Vec<String> = faults.0.iter().map(ToString::to_string).collect();
        assert_eq!(
            messages,
            ["algorithms.mine.kind: 'part' is not a valid value\n  hint: one of whole, model, growth, media"]
        );
    }

    #[test]
    fn a_policy_stands_in_place_of_a_class() {
        let mut faults = Faults::default();
        let table =
            json!({ "mine": { "policy": { "a": 1 } }, "b": { "policy": {}, "kind": "whole" }, "c": { "policy": 1 } });
        let classes = read(Some(&table), &mut faults);
        let mine = classes.iter().find(|one| one.name == "mine").expect("it is read");
        assert_eq!(mine.policy, Some(json!({ "a": 1 })));
        // sha256sum of the text {"a":1}
        assert_eq!(mine.to_string(), "'mine' is a policy (SHA-256 015abd7f5cc5…)");
        let messages: Vec<String> = faults.0.iter().map(ToString::to_string).collect();
        assert_eq!(
            messages,
            [
                "algorithms.b.kind: a policy has no such field\n  hint: leave it out",
                "algorithms.c.policy: expected a file or a table\n  hint: write 'policy = \"policy.json\"'",
            ]
        );
    }

    /// Elsewhere a table with a kind and a file is a list of losses.
    #[test]
    fn the_file_of_a_class_is_not_read() {
        let text = "algorithms = { mine = { class = \"Mine\", kind = \"growth\", file = \"nowhere.rs\" } }";
        let scenario = crate::Scenario::from_toml(text, None).expect("no file is read");
        assert_eq!(scenario.classes()[0].file, "nowhere.rs");
    }
}
