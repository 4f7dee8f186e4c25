//! The catalogue of all entries, and the text form in which a flow specifies its algorithm.

use std::fmt;

use cwndlab_units::spelling::nearest;
use cwndlab_units::Fault;

use crate::composed::Composed;
use crate::contract::{CongestionControl, Path};
use crate::spec::{Arguments, Build, Domain, Kind, Need, Parameter, RecoveryKind, Spec, Value};

/// The entries, and their aliases in papers and stacks.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// All entries.
    pub specs: Vec<&'static Spec>,
    /// Alias, and the text form for which it stands.
    pub aliases: &'static [(&'static str, &'static str)],
}

/// A part of an algorithm with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The entry.
    pub spec: &'static Spec,
    /// Values of its parameters.
    pub arguments: Arguments,
}

/// A validated combination of congestion avoidance, slow start and recovery: `GROWTH[+SLOW_START][/RECOVERY]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Algorithm {
    /// Congestion avoidance, or a whole algorithm.
    pub growth: Part,
    /// Slow start; `None` for a whole algorithm.
    pub slow_start: Option<Part>,
    /// Recovery; `None`: that of the stack profile.
    pub recovery: Option<Part>,
}

impl Algorithm {
    /// Whether the algorithm sets the window during recovery and after idle periods: as its entry states, unless its
    /// parameter `recovery` leaves them to the transport.
    #[must_use]
    pub fn is_model_based(&self) -> bool {
        self.growth.spec.model_based && self.growth.arguments.get("recovery") != Some(Value::Word("transport"))
    }
}

/// One part of the text: its name and the arguments in its parentheses.
struct Written<'a> {
    name: &'a str,
    arguments: Vec<(&'a str, &'a str)>,
}

fn fault<T>(what: impl Into<String>, hint: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::new("", what, hint))
}

/// Splits a text at `+` and `/` outside of parentheses: congestion avoidance, slow start, recovery.
fn split(text: &str) -> Result<(&str, Option<&str>, Option<&str>), Fault> {
    if std::path::Path::new(text.trim_end()).extension().is_some_and(|ending| ending == "py") {
        let hint = "name its class here, and the file by --algorithm-file, in Python by algorithms=";
        return fault(format!("'{text}' is a file, not an algorithm"), hint);
    }
    let mut depth = 0;
    let mut plus = None;
    let mut slash = None;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            '+' if depth == 0
                && plus.is_none()
                && slash.is_none()
                && !text[at..].starts_with("++")
                && !text[..at].ends_with('+') =>
            {
                plus = Some(at);
            }
            '/' if depth == 0 && slash.is_none() => slash = Some(at),
            _ => {}
        }
        if !(0..=1).contains(&depth) {
            break;
        }
    }
    if depth != 0 {
        return fault(format!("the parentheses of '{text}' do not match"), "write 'cubic+ccm-ss(mu=1.5)/sack'");
    }
    let end = slash.unwrap_or(text.len());
    let growth = &text[..plus.unwrap_or(end)];
    Ok((growth, plus.map(|at| &text[at + 1..end]), slash.map(|at| &text[at + 1..])))
}

fn read(text: &str) -> Result<Written<'_>, Fault> {
    let text = text.trim();
    let Some((name, rest)) = text.split_once('(') else {
        if text.is_empty() {
            return fault(
                "a part of the algorithm is empty",
                "write 'GROWTH[+SLOW_START][/RECOVERY]', for instance 'cubic+hystart/sack'",
            );
        }
        return Ok(Written { name: text, arguments: Vec::new() });
    };
    let Some(inside) = rest.trim_end().strip_suffix(')') else {
        return fault(
            format!("unexpected text after the parentheses of '{text}'"),
            "write 'cubic+ccm-ss(mu=1.5)/sack'",
        );
    };
    let mut arguments = Vec::new();
    for pair in inside.split(',').filter(|pair| !pair.trim().is_empty()) {
        let Some((key, value)) = pair.split_once('=') else {
            return fault(format!("'{}' is not a parameter", pair.trim()), "write 'name=value'");
        };
        if arguments.iter().any(|(known, _)| *known == key.trim()) {
            return fault(format!("'{}' has two values", key.trim()), "leave out one of them");
        }
        arguments.push((key.trim(), value.trim()));
    }
    Ok(Written { name: name.trim(), arguments })
}

fn read_value(part: &str, parameter: &'static Parameter, text: &str) -> Result<Value, Fault> {
    let name = parameter.name;
    match parameter.domain {
        Domain::Words(words) => {
            words.iter().find(|word| **word == text).map(|word| Value::Word(word)).ok_or_else(|| {
                Fault::new(
                    "",
                    format!("{part}: {name} = '{text}' is not one of its values"),
                    format!("write one of {}", words.join(", ")),
                )
            })
        }
        Domain::Range(low, high) => match text.parse::<f64>() {
            Ok(number) if number >= low && number <= high => Ok(Value::Number(number)),
            Ok(number) => fault(
                format!("{part}: {name} = {number} is out of range"),
                format!(
                    "{name} ranges from {low} to {high}{}{}",
                    if parameter.unit.is_empty() { "" } else { " " },
                    parameter.unit
                ),
            ),
            Err(_) => fault(
                format!("{part}: {name} = '{text}' is not a number"),
                format!("{name} ranges from {low} to {high}"),
            ),
        },
    }
}

fn kind_in_words(kind: Kind) -> &'static str {
    match kind {
        Kind::CongestionAvoidance => "a congestion-avoidance algorithm",
        Kind::SlowStart => "a slow-start algorithm",
        Kind::Recovery => "a recovery algorithm",
        Kind::Whole => "a whole algorithm",
        Kind::Router => "a router-assisted scheme",
        Kind::Mechanism => "a mechanism of the transport",
    }
}

impl Catalogue {
    /// The entry of this name, of any kind; where entries of two kinds have the name, the first one.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&'static Spec> {
        self.specs.iter().copied().find(|spec| spec.name == name)
    }

    fn of_kind(&self, name: &str, kinds: &[Kind]) -> Option<&'static Spec> {
        let made = |spec: &&Spec| kinds.contains(&spec.kind) && !matches!(spec.build, Build::Mechanism);
        self.specs.iter().copied().find(|spec| spec.name == name && made(spec))
    }

    fn alias(&self, name: &str) -> Option<&'static str> {
        self.aliases.iter().find(|(alias, _)| *alias == name).map(|(_, target)| *target)
    }

    /// The entry of a name or of an alias.
    fn meant(&self, name: &str) -> Option<&'static Spec> {
        self.find(name).or_else(|| self.find(self.alias(name)?))
    }

    fn unknown<T>(&self, name: &str, kinds: &[Kind]) -> Result<T, Fault> {
        let wanted = kind_in_words(kinds[0]);
        let form = "write 'GROWTH[+SLOW_START][/RECOVERY]', for instance 'cubic+hystart/sack'";
        if let Some(spec) = self.meant(name) {
            return fault(format!("'{name}' is {}, not {wanted}", kind_in_words(spec.kind)), form);
        }
        if let Some(target) = self.alias(name) {
            return fault(format!("'{name}' is '{target}', not {wanted}"), form);
        }
        let fits = |name: &str| self.meant(name).is_none_or(|spec| kinds.contains(&spec.kind));
        let whole = kinds.contains(&Kind::CongestionAvoidance);
        let aliases =
            self.aliases.iter().filter(|(alias, target)| fits(alias) && (whole || self.find(target).is_some()));
        let names = self
            .specs
            .iter()
            .filter(|spec| kinds.contains(&spec.kind))
            .map(|spec| spec.name)
            .chain(aliases.map(|(alias, _)| *alias));
        let what = format!("no algorithm is called '{name}'");
        match nearest(name, names) {
            Some(near) => fault(what, format!("did you mean '{near}'? `cwndlab list` shows them all")),
            None => fault(what, "`cwndlab list` shows them all"),
        }
    }

    fn part(&self, written: &Written<'_>, kinds: &[Kind]) -> Result<Part, Fault> {
        let mut name = written.name;
        let spec = loop {
            if let Some(spec) = self.of_kind(name, kinds) {
                break spec;
            }
            match self.alias(name) {
                Some(target) if target != name && !target.contains(['+', '/', '(']) => name = target,
                _ => return self.unknown(written.name, kinds),
            }
        };
        let mut arguments = Arguments::defaults(spec.parameters);
        for (key, value) in &written.arguments {
            let Some(at) = spec.parameters.iter().position(|parameter| parameter.name == *key) else {
                let known = spec.parameters.iter().map(|parameter| parameter.name);
                let hint = match nearest(key, known.clone()) {
                    Some(near) => format!("did you mean '{near}'?"),
                    None if spec.parameters.is_empty() => "it has no parameters".to_owned(),
                    None => format!("it has {}", known.collect::<Vec<_>>().join(", ")),
                };
                return fault(format!("{} has no parameter called '{key}'", spec.name), hint);
            };
            arguments.values[at] = read_value(spec.name, &spec.parameters[at], value)?;
        }
        Ok(Part { spec, arguments })
    }

    /// Parses a text such as `cubic+ccm-ss(mu=1.5)/sack`, resolves aliases and default slow starts, and validates
    /// parameters.
    ///
    /// # Errors
    /// A [`Fault`] where the text is not a valid algorithm.
    pub fn parse(&self, text: &str) -> Result<Algorithm, Fault> {
        let (growth, slow_start, recovery) = split(text)?;
        let written = read(growth)?;
        let kinds = [Kind::CongestionAvoidance, Kind::Whole, Kind::Router];
        if self.of_kind(written.name, &kinds).is_none() {
            if let Some(target) = self.alias(written.name).filter(|target| target.contains(['+', '/', '('])) {
                return self.preset(&written, target, slow_start, recovery);
            }
        }
        let growth = self.part(&written, &kinds)?;
        let slow_start = self.slow_start(&growth, slow_start)?;
        let recovery = recovery.map(|text| self.part(&read(text)?, &[Kind::Recovery])).transpose()?;
        Ok(Algorithm { growth, slow_start, recovery })
    }

    /// Resolves an alias such as `newreno` = `reno+standard/newreno`; parts given in the text take precedence.
    fn preset(
        &self,
        written: &Written<'_>,
        target: &str,
        slow_start: Option<&str>,
        recovery: Option<&str>,
    ) -> Result<Algorithm, Fault> {
        let mut whole = self.parse(target)?;
        if !written.arguments.is_empty() {
            let named = Written { name: whole.growth.spec.name, arguments: written.arguments.clone() };
            whole.growth = self.part(&named, &[Kind::CongestionAvoidance, Kind::Whole, Kind::Router])?;
        }
        if slow_start.is_some() {
            whole.slow_start = self.slow_start(&whole.growth, slow_start)?;
        }
        if let Some(text) = recovery {
            whole.recovery = Some(self.part(&read(text)?, &[Kind::Recovery])?);
        }
        Ok(whole)
    }

    fn slow_start(&self, growth: &Part, text: Option<&str>) -> Result<Option<Part>, Fault> {
        let name = growth.spec.name;
        match (growth.spec.kind, text) {
            (Kind::Whole | Kind::Router, None) => Ok(None),
            (Kind::Whole | Kind::Router, Some(text)) => fault(
                format!(
                    "'{name}' is a whole algorithm with its own slow start and cannot be combined with '+{}'",
                    text.trim()
                ),
                format!("write '{name}'"),
            ),
            (_, Some(text)) => {
                let start = self.part(&read(text)?, &[Kind::SlowStart])?;
                let pairs = start.spec.incompatible.iter().map(|pair| (pair, name));
                let pairs = pairs.chain(growth.spec.incompatible.iter().map(|pair| (pair, start.spec.name)));
                for ((incompatible, reason), other) in pairs {
                    if *incompatible == other {
                        return fault(
                            format!("'{name}' and '{}' cannot be combined: {reason}", start.spec.name),
                            format!("write '{name}' for its default slow start"),
                        );
                    }
                }
                Ok(Some(start))
            }
            (_, None) if growth.spec.companion.is_empty() => Ok(None),
            (_, None) => {
                self.part(&Written { name: growth.spec.companion, arguments: Vec::new() }, &[Kind::SlowStart]).map(Some)
            }
        }
    }
}

impl Algorithm {
    /// Creates the congestion control of one flow.
    #[must_use]
    pub fn build(&self, path: &Path) -> Box<dyn CongestionControl> {
        match (self.growth.spec.build, self.slow_start.as_ref().map(|part| (part.spec.build, &part.arguments))) {
            (Build::Whole(make), _) => make(path, &self.growth.arguments),
            (Build::Dynamic(maker), _) => maker.make(path, &self.growth.arguments),
            (Build::CongestionAvoidance(make), start) => {
                let start = start.map(|(build, arguments)| match build {
                    Build::SlowStart(make) => make(path, arguments),
                    _ => unreachable!("parse combines only congestion avoidance with a slow start"),
                });
                Box::new(Composed::new(path, start, make(path, &self.growth.arguments)))
            }
            _ => unreachable!("parse begins with congestion avoidance or a whole algorithm"),
        }
    }

    /// The requirements of congestion avoidance and slow start on host and path.
    pub fn all_needs(&self) -> impl Iterator<Item = Need> + '_ {
        let parts = std::iter::once(&self.growth).chain(self.slow_start.as_ref());
        parts.flat_map(|part| part.spec.needs.iter().copied())
    }

    /// Whether congestion avoidance or slow start has this requirement.
    #[must_use]
    pub fn needs(&self, need: Need) -> bool {
        self.all_needs().any(|one| one == need)
    }

    /// The scheme of router assistance of the algorithm, and the part that uses it.
    #[must_use]
    pub fn router_assistance(&self) -> Option<(&'static str, &Part)> {
        let mut parts = std::iter::once(&self.growth).chain(self.slow_start.as_ref());
        parts.find_map(|part| {
            part.spec.needs.iter().find_map(|need| match need {
                Need::Agent(scheme) => Some((*scheme, part)),
                _ => None,
            })
        })
    }

    /// The recovery in the text.
    #[must_use]
    pub fn recovery_kind(&self) -> Option<RecoveryKind> {
        self.recovery.as_ref().and_then(|part| match part.spec.build {
            Build::Recovery(kind) => Some(kind),
            _ => None,
        })
    }

    /// The arguments of the recovery in the text.
    #[must_use]
    pub fn recovery_arguments(&self) -> Option<&Arguments> {
        self.recovery.as_ref().map(|part| &part.arguments)
    }

    /// Whether the algorithm itself limits the growth of its window per ACK in slow start, so that it must receive all
    /// acknowledged bytes: a whole algorithm of the catalogue, a model-based one, or a slow start that has its limit L
    /// as a parameter (RFC 3465, section 2.3; RFC 9406, section 4.2).
    #[must_use]
    pub fn limits_growth_per_ack(&self) -> bool {
        let Some(start) = &self.slow_start else {
            return self.growth.spec.model_based || matches!(self.growth.spec.build, Build::Whole(_));
        };
        let limits = ["limit", "l"].iter().filter_map(|name| start.arguments.get(name));
        limits.into_iter().any(|limit| matches!(limit, Value::Number(segments) if segments > 0.0))
    }

    /// Whether the window may fall to half of `ssthresh` in recovery (`min_cwnd` of ns-2.35).
    #[must_use]
    pub fn min_cwnd_half(&self) -> bool {
        self.growth.arguments.get("min_cwnd") == Some(Value::Word("half"))
    }
}

/// A part with the parameters that differ from their defaults.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.spec.name)?;
        let mut open = false;
        for (parameter, value) in self.spec.parameters.iter().zip(&self.arguments.values) {
            if *value == parameter.default {
                continue;
            }
            write!(f, "{}{}=", if open { ", " } else { "(" }, parameter.name)?;
            open = true;
            match value {
                Value::Number(number) => write!(f, "{number}")?,
                Value::Word(word) => f.write_str(word)?,
            }
        }
        if open {
            f.write_str(")")
        } else {
            Ok(())
        }
    }
}

/// The canonical text: all parts, with the parameters that differ from their defaults, in the order of the entry.
impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.growth)?;
        if let Some(part) = &self.slow_start {
            write!(f, "+{part}")?;
        }
        if let Some(part) = &self.recovery {
            write!(f, "/{part}")?;
        }
        Ok(())
    }
}
