//! Distributions as written: a quantity, or a table with a `kind`.

use cwndlab_units::{maths, parse_bytes, parse_duration, ParseError};
use serde_json::Value;

use super::fields::DISTRIBUTION;
use crate::distribution::Distribution;
use crate::read::{Faults, Table};

/// What is drawn: the unit of its values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Time,
    Size,
}

impl Unit {
    /// Text to base units.
    fn parse(self, text: &str) -> Result<f64, ParseError> {
        match self {
            Self::Time => parse_duration(text).map(|time| time.0 as f64),
            Self::Size => parse_bytes(text).map(|size| size.0 as f64),
        }
    }

    fn example(self) -> &'static str {
        match self {
            Self::Time => "\"2 s\"",
            Self::Size => "\"20 kB\"",
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Uniform,
    Exponential,
    Pareto,
    LogNormal,
    Gamma,
    Table,
}

impl Kind {
    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Uniform => &["kind", "min", "max"],
            Self::Exponential => &["kind", "mean"],
            Self::Pareto => &["kind", "shape", "mean", "min", "max"],
            Self::LogNormal => &["kind", "mean", "cv", "median", "sigma"],
            Self::Gamma => &["kind", "mean", "cv"],
            Self::Table => &["kind", "points"],
        }
    }
}

const KINDS: &[(&str, Kind)] = &[
    ("uniform", Kind::Uniform),
    ("exponential", Kind::Exponential),
    ("pareto", Kind::Pareto),
    ("log-normal", Kind::LogNormal),
    ("gamma", Kind::Gamma),
    ("cdf", Kind::Table),
];

/// The field `key` as a distribution; a plain quantity is a fixed value.
pub(super) fn read(table: &Table<'_>, key: &str, unit: Unit, faults: &mut Faults) -> Option<Distribution> {
    let value = table.get(key)?;
    if value.is_object() {
        let inner = Table::new(value, table.at(key), DISTRIBUTION, faults)?;
        return read_kind(&inner, unit, faults);
    }
    quantity(table, key, unit, faults).map(Distribution::Fixed)
}

/// The same where the value must be there and above zero.
pub(super) fn require(table: &Table<'_>, key: &str, unit: Unit, faults: &mut Faults) -> Option<Distribution> {
    let found = read(table, key, unit, faults);
    let found = table.require(key, found, &format!("'{key} = {}'", unit.example()), faults)?;
    if found == Distribution::Fixed(0.0) {
        faults.add(table.at(key), "is zero", format!("write {}", unit.example()));
        return None;
    }
    Some(found)
}

fn quantity(table: &Table<'_>, key: &str, unit: Unit, faults: &mut Faults) -> Option<f64> {
    match unit {
        Unit::Time => table.duration(key, faults).map(|time| time.0 as f64),
        Unit::Size => table.bytes(key, faults).map(|size| size.0 as f64),
    }
}

fn positive(table: &Table<'_>, key: &str, faults: &mut Faults) -> Option<f64> {
    let value = table.get(key)?;
    let number = value.as_f64().filter(|number| *number > 0.0 && number.is_finite());
    if number.is_none() {
        faults.add(table.at(key), format!("a number above 0 is wanted, this is {value}"), "");
    }
    number
}

/// A quantity above zero that must be there.
fn above_zero(table: &Table<'_>, key: &str, unit: Unit, faults: &mut Faults) -> Option<f64> {
    let value = quantity(table, key, unit, faults);
    let value = table.require(key, value, &format!("'{key} = {}'", unit.example()), faults)?;
    if value <= 0.0 {
        faults.add(table.at(key), "is zero", format!("write {}", unit.example()));
        return None;
    }
    Some(value)
}

fn read_kind(table: &Table<'_>, unit: Unit, faults: &mut Faults) -> Option<Distribution> {
    let kind = table.word("kind", KINDS, faults);
    let kind = table.require("kind", kind, "'kind = \"exponential\"'", faults)?;
    let word = table.get("kind").and_then(Value::as_str).unwrap_or_default();
    table.only(word, kind.fields(), faults);
    match kind {
        Kind::Uniform => {
            let low = quantity(table, "min", unit, faults).unwrap_or(0.0);
            let high = above_zero(table, "max", unit, faults)?;
            if low > high {
                faults.add(table.at("min"), "is above 'max'", "");
                return None;
            }
            Some(Distribution::Uniform(low, high))
        }
        Kind::Exponential => Some(Distribution::Exponential(above_zero(table, "mean", unit, faults)?)),
        Kind::Pareto => read_pareto(table, unit, faults),
        Kind::LogNormal => read_log_normal(table, unit, faults),
        Kind::Gamma => {
            let mean = above_zero(table, "mean", unit, faults);
            let cv = positive(table, "cv", faults);
            let cv = table.require("cv", cv, "'cv = 0.5' (standard deviation over mean)", faults)?;
            Some(gamma(mean?, cv))
        }
        Kind::Table => read_points(table, unit, faults),
    }
}

fn read_pareto(table: &Table<'_>, unit: Unit, faults: &mut Faults) -> Option<Distribution> {
    let shape = positive(table, "shape", faults);
    let shape = table.require("shape", shape, "'shape = 1.5'", faults)?;
    let most = table.get("max").map(|_| above_zero(table, "max", unit, faults));
    let most = match most {
        Some(most) => most?,
        None => f64::INFINITY,
    };
    let least = match (table.get("min"), table.get("mean")) {
        (Some(_), None) => above_zero(table, "min", unit, faults)?,
        (None, Some(_)) if most.is_infinite() => {
            let mean = above_zero(table, "mean", unit, faults)?;
            if shape <= 1.0 {
                faults.add(
                    table.at("shape"),
                    "a Pareto tail of index 1 or less has no mean",
                    "give 'min', or a shape above 1",
                );
                return None;
            }
            mean * (shape - 1.0) / shape
        }
        _ => {
            faults.add(
                table.path.clone(),
                "a Pareto distribution has either 'mean', or 'min' and perhaps 'max'",
                "write { kind = \"pareto\", shape = 1.2, min = …, max = … }",
            );
            return None;
        }
    };
    if least >= most {
        faults.add(table.at("max"), "is not above 'min'", "");
        return None;
    }
    Some(Distribution::Pareto { shape, least, most })
}

fn read_log_normal(table: &Table<'_>, unit: Unit, faults: &mut Faults) -> Option<Distribution> {
    if table.get("median").is_some() {
        let median = above_zero(table, "median", unit, faults);
        let sigma = positive(table, "sigma", faults);
        let sigma = table.require("sigma", sigma, "'sigma = 1.0' (of the logarithm)", faults)?;
        return Some(Distribution::LogNormal { mu: maths::ln(median?), sigma });
    }
    let mean = above_zero(table, "mean", unit, faults);
    let cv = positive(table, "cv", faults);
    let cv = table.require("cv", cv, "'cv = 2.0' (standard deviation over mean), or 'median' and 'sigma'", faults)?;
    Some(log_normal(mean?, cv))
}

/// By mean and coefficient of variation.
pub(super) fn log_normal(mean: f64, cv: f64) -> Distribution {
    let variance = maths::ln(1.0 + cv * cv);
    Distribution::LogNormal { mu: maths::ln(mean) - variance / 2.0, sigma: maths::sqrt(variance) }
}

/// By mean and coefficient of variation.
pub(super) fn gamma(mean: f64, cv: f64) -> Distribution {
    Distribution::Gamma { shape: 1.0 / (cv * cv), scale: mean * cv * cv }
}

fn read_points(table: &Table<'_>, unit: Unit, faults: &mut Faults) -> Option<Distribution> {
    let hint = "write 'file = \"sizes.csv\"', or 'points = [[\"1 kB\", 0.5], [\"10 kB\", 1.0]]'";
    let Some(Value::Array(rows)) = table.get("points") else {
        faults.add(table.at("points"), "is missing", hint);
        return None;
    };
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (n, row) in rows.iter().enumerate() {
        let path = format!("{}[{n}]", table.at("points"));
        let value = match row.get(0) {
            Some(Value::String(text)) => match unit.parse(text) {
                Ok(value) => Some(value),
                Err(fault) => {
                    faults.add(path, fault.what, fault.hint);
                    return None;
                }
            },
            other => other.and_then(Value::as_f64), // of a file, in base units
        };
        let (Some(value), Some(probability)) = (value, row.get(1).and_then(Value::as_f64)) else {
            faults.add(path, format!("a value and a probability are wanted, this is {row}"), hint);
            return None;
        };
        if let Err((what, hint)) = next_point(points.last().copied(), value, probability) {
            faults.add(path, what, hint);
            return None;
        }
        points.push((value, probability));
    }
    if let Err((what, hint)) = last_point(points.last().copied()) {
        faults.add(table.at("points"), what, hint);
        return None;
    }
    Some(Distribution::Table(points.into()))
}

/// What is wrong with a point of a distribution function after the one before it.
pub(crate) fn next_point(
    before: Option<(f64, f64)>,
    value: f64,
    probability: f64,
) -> Result<(), (String, &'static str)> {
    if !(value > 0.0 && value.is_finite()) {
        return Err((format!("{value} is no size or time above 0"), ""));
    }
    if !(0.0..=1.0).contains(&probability) {
        return Err((format!("{probability} is no probability from 0 to 1"), "the second column is P(X ≤ value)"));
    }
    match before {
        Some((last, _)) if value <= last => {
            Err((format!("{value} is not above the {last} before it"), "values ascend"))
        }
        Some((_, last)) if probability < last => {
            Err((format!("the probability falls from {last} to {probability}"), "it is cumulative: P(X ≤ value)"))
        }
        _ => Ok(()),
    }
}

/// What is wrong with the end of a distribution function.
pub(crate) fn last_point(last: Option<(f64, f64)>) -> Result<(), (String, &'static str)> {
    match last {
        None => Err(("there is no point".to_owned(), "two columns: value, probability")),
        Some((_, probability)) if (probability - 1.0).abs() > 1e-9 => {
            Err((format!("the last probability is {probability}, not 1"), "the largest value has P(X ≤ value) = 1"))
        }
        Some(_) => Ok(()),
    }
}
