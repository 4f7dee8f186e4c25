//! Controls outside of the tree: a scenario names a class and its parameters, and whoever runs it installs a constructor.

use std::sync::OnceLock;

use cwndlab_units::Fault;
use serde_json::{Map, Value};

use crate::media::rate_control::{Parameters, RateControl};

/// The text of a class and its parameters, such as `mine(gain=2)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomControl {
    text: String,
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument {
    /// A number.
    Number(f64),
    /// A Boolean.
    Flag(bool),
}

/// Creates a control for a flow. It is called in the thread of the run.
pub type Constructor = fn(&CustomControl, &Parameters) -> Box<dyn RateControl>;

static CONSTRUCTOR: OnceLock<Constructor> = OnceLock::new();

/// Installs the constructor of this process; a second one is ignored.
pub fn install(constructor: Constructor) {
    let _ = CONSTRUCTOR.set(constructor);
}

/// What a scenario may name.
pub(crate) const HINT: &str = "write \"nada\", \"scream2\", \"gcc\" or \"none\", or give a class by --algorithm-file";

impl CustomControl {
    /// The control that a scenario names; `None` if a class cannot have the name.
    pub(crate) fn named(text: String) -> Option<Self> {
        let custom = Self { text };
        let letters = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        let begins = custom.name().starts_with(|letter: char| letter.is_ascii_lowercase());
        (begins && custom.name().chars().all(letters)).then_some(custom)
    }

    /// The name of the class in the scenario.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text.split('(').next().unwrap_or_default().trim()
    }

    /// The parameters, by name.
    ///
    /// # Errors
    /// A text that is not `name(parameter=value, ...)` with numbers, `true` and `false`.
    pub fn arguments(&self) -> Result<Vec<(&str, Argument)>, Fault> {
        let Some((_, rest)) = self.text.split_once('(') else { return Ok(Vec::new()) };
        let fault = |what: String| Fault::new("", what, "write \"mine(gain=2, fast=true)\"");
        let inside = rest.trim_end().strip_suffix(')').ok_or_else(|| fault(format!("'{}' has no ')'", self.text)))?;
        let parts = inside.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts
            .map(|part| {
                let (name, value) = part.split_once('=').ok_or_else(|| fault(format!("'{part}' has no '='")))?;
                let argument = match value.trim() {
                    "true" => Argument::Flag(true),
                    "false" => Argument::Flag(false),
                    text => match text.parse::<f64>() {
                        Ok(number) if number.is_finite() => Argument::Number(number),
                        _ => return Err(fault(format!("'{text}' is not a number, true or false"))),
                    },
                };
                Ok((name.trim(), argument))
            })
            .collect()
    }

    /// Checks the parameters against those of the class, `None` if the scenario describes no such class.
    ///
    /// # Errors
    /// What is wrong, without its place.
    pub fn check(&self, parameters: Option<&Map<String, Value>>) -> Result<(), Fault> {
        let Some(known) = parameters else {
            return Err(Fault::new("", format!("no congestion control for media is called '{}'", self.name()), HINT));
        };
        for (name, argument) in self.arguments()? {
            let fits = match (known.get(name), argument) {
                (None, _) => {
                    let names = known.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
                    let hint = if names.is_empty() { "it has none".to_owned() } else { format!("it has {names}") };
                    let what = format!("'{}' has no parameter '{name}'", self.name());
                    return Err(Fault::new("", what, hint));
                }
                (Some(default), Argument::Flag(_)) => default.is_boolean(),
                (Some(default), Argument::Number(_)) => default.is_number(),
            };
            if !fits {
                let what = format!("'{name}' is of another type than its default {}", known[name]);
                return Err(Fault::new("", what, "write a number, or true or false, as the default is one"));
            }
        }
        if CONSTRUCTOR.get().is_none() {
            return Err(Fault::new("", "classes need the Python package", HINT));
        }
        Ok(())
    }

    /// The control in its initial state.
    ///
    /// # Panics
    /// Without a constructor, which `check` has reported.
    pub(crate) fn start(&self, parameters: &Parameters) -> Box<dyn RateControl> {
        let constructor = CONSTRUCTOR.get().unwrap_or_else(|| panic!("'{}' has no constructor", self.text));
        constructor(self, parameters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn custom(text: &str) -> CustomControl {
        CustomControl { text: text.to_owned() }
    }

    /// By hand.
    #[test]
    fn a_text_has_a_name_and_parameters() {
        let mine = custom("mine(gain=2, fast = true,)");
        assert_eq!(mine.name(), "mine");
        let arguments = mine.arguments().expect("it is well formed");
        assert_eq!(arguments, [("gain", Argument::Number(2.0)), ("fast", Argument::Flag(true))]);
        assert_eq!(custom("mine").arguments().expect("none"), []);
        for (text, what) in [
            ("mine(gain=2", "'mine(gain=2' has no ')'"),
            ("mine(gain)", "'gain' has no '='"),
            ("mine(gain=fast)", "'fast' is not a number, true or false"),
            ("mine(gain=inf)", "'inf' is not a number, true or false"),
        ] {
            assert_eq!(custom(text).arguments().expect_err(text).what, what);
        }
    }

    #[test]
    fn parameters_are_those_of_the_class() {
        let class = json!({ "gain": 1.0, "fast": false });
        let what = |text: &str, class: Option<&Map<String, Value>>| custom(text).check(class).expect_err(text).what;
        assert_eq!(what("other", None), "no congestion control for media is called 'other'");
        assert_eq!(what("mine(gian=2)", class.as_object()), "'mine' has no parameter 'gian'");
        assert_eq!(what("mine(gain=true)", class.as_object()), "'gain' is of another type than its default 1.0");
        assert_eq!(what("mine(gain=2)", class.as_object()), "classes need the Python package");
    }
}
