//! The agents of learning environments: what their flows measure, observe and gain, in arrays of NumPy.

use std::sync::{Mutex, MutexGuard, PoisonError};

use cwndlab_learned::external;
use cwndlab_learned::policy::action::Action;
use cwndlab_learned::policy::document::Observation;
use cwndlab_learned::policy::features::{self, Measured};
use cwndlab_learned::policy::reward::{PathFacts, Reward};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

use super::report::FIELDS;

/// Columns of an interval.
const COLUMNS: usize = features::FIELDS.len();
/// The measured values of an interval, which precede those that are computed from them.
const MEASURED: usize = 10;

/// The names of the columns of an interval.
#[pyfunction]
pub(crate) fn interval_fields() -> Vec<&'static str> {
    features::FIELDS.to_vec()
}

/// Checks shape and layout of an array.
pub(super) fn check(name: &str, buffer: &PyBuffer<f64>, columns: usize, writable: bool) -> PyResult<()> {
    let shape = buffer.shape();
    if shape.len() != 2 || shape[1] != columns || !buffer.is_c_contiguous() || writable && buffer.readonly() {
        return Err(PyValueError::new_err(format!(
            "{name}: expected a C-contiguous{} array of float64 with {columns} columns, not one of shape {shape:?}",
            if writable { ", writable" } else { "" },
        )));
    }
    Ok(())
}

/// The measured values of an interval in a report.
fn measured(report: &[f64; FIELDS.len()]) -> [f64; MEASURED] {
    let [_, _, _, _, duration, sent, acked, lost, _, rtt_mean, _, _, rtt_slope, srtt, min_rtt, _, cwnd, pacing_rate, ..] =
        *report;
    [duration, sent, acked, lost, rtt_mean, rtt_slope, srtt, min_rtt, cwnd, pacing_rate]
}

/// A value from its JSON.
fn parsed<T: DeserializeOwned>(what: &str, json: &str) -> PyResult<T> {
    serde_json::from_str(json).map_err(|error| PyValueError::new_err(format!("{what}: {error}")))
}

/// A reward by its name.
fn reward_of(name: &str) -> PyResult<Reward> {
    serde_json::from_value(name.into()).map_err(|error| PyValueError::new_err(format!("reward: {error}")))
}

/// n agents. The arrays have a row for each: `intervals` the last interval of its flow, `observations` the features of
/// the last intervals, the oldest first, `rewards` the reward.
#[pyclass(frozen, module = "cwndlab._engine")]
pub(crate) struct Agents {
    count: usize,
    observation: Observation,
    action: Action,
    /// `None`: rewards are zero, and the caller computes them.
    reward: Option<Reward>,
    state: Mutex<Rows>,
    intervals: PyBuffer<f64>,
    observations: PyBuffer<f64>,
    rewards: PyBuffer<f64>,
}

/// The content of the arrays, row by row, and the paths.
pub(super) struct Rows {
    intervals: Vec<f64>,
    observations: Vec<f64>,
    rewards: Vec<f64>,
    paths: Vec<PathFacts>,
}

impl Rows {
    fn interval(&self, index: usize) -> Measured {
        let mut row = [f64::NAN; COLUMNS];
        row.copy_from_slice(&self.intervals[index * COLUMNS..][..COLUMNS]);
        Measured::from_row(row)
    }

    fn set_interval(&mut self, index: usize, interval: &Measured) {
        self.intervals[index * COLUMNS..][..COLUMNS].copy_from_slice(&interval.to_row());
    }

    /// Replaces the interval of a flow by the one after it.
    fn measure(&mut self, index: usize, measured: [f64; MEASURED]) -> Measured {
        self.intervals[index * COLUMNS..][..MEASURED].copy_from_slice(&measured);
        let interval = self.interval(index).derived();
        self.set_interval(index, &interval);
        interval
    }
}

impl Agents {
    /// Number of agents.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The rows, until the lock is released.
    pub(super) fn lock(&self) -> MutexGuard<'_, Rows> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The change of window and pacing rate for an action.
    pub(super) fn decision(&self, rows: &Rows, index: usize, output: f64) -> external::Action {
        self.action.decide(output, &rows.interval(index))
    }

    /// Enters the first report of a run. A run without a decision has a neutral observation.
    pub(super) fn begin(&self, rows: &mut Rows, index: usize, report: &[f64; FIELDS.len()]) {
        let interval = rows.measure(index, measured(report));
        self.observe(rows, index, &interval);
    }

    /// Enters the report of a decision, or that of the end of a run, which has no interval and no reward and leaves the
    /// observation.
    pub(super) fn enter(&self, rows: &mut Rows, index: usize, report: &[f64; FIELDS.len()]) {
        let interval = rows.measure(index, measured(report));
        if report[0] == 0.0 {
            self.observe(rows, index, &interval);
        } else {
            rows.set_interval(index, &Measured { throughput: f64::NAN, loss_ratio: f64::NAN, ..interval });
            rows.rewards[index] = 0.0;
        }
    }

    /// Appends the features of an interval to the observation of a flow, and sets its reward.
    fn observe(&self, rows: &mut Rows, index: usize, interval: &Measured) {
        let size = rows.observations.len() / self.count;
        let features = self.observation.kind.of(interval);
        let observation = &mut rows.observations[index * size..][..size];
        observation.copy_within(features.len().., 0);
        observation[size - features.len()..].copy_from_slice(&features);
        rows.rewards[index] = self.reward.map_or(0.0, |reward| reward.of(interval, rows.paths[index]));
    }

    /// Writes the arrays.
    pub(super) fn write(&self, py: Python<'_>, rows: &Rows) -> PyResult<()> {
        self.intervals.copy_from_slice(py, &rows.intervals)?;
        self.observations.copy_from_slice(py, &rows.observations)?;
        self.rewards.copy_from_slice(py, &rows.rewards)
    }

    /// Sets what is known of a flow before its first interval.
    fn begin_anew(&self, rows: &mut Rows, index: usize, path: PathFacts) {
        let nothing = Measured::nothing().to_row();
        let row = std::array::from_fn(|column| if column < MEASURED { f64::NAN } else { nothing[column] });
        rows.set_interval(index, &Measured::from_row(row));
        let size = rows.observations.len() / self.count;
        let neutral = self.observation.kind.bounds().iter().cycle().map(|&(_, _, neutral)| neutral);
        for (value, neutral) in rows.observations[index * size..][..size].iter_mut().zip(neutral) {
            *value = neutral;
        }
        rows.rewards[index] = 0.0;
        rows.paths[index] = path;
    }

    fn check_index(&self, index: usize) -> PyResult<()> {
        if index < self.count {
            return Ok(());
        }
        Err(PyIndexError::new_err(format!("index: there are {} agents, not {}", self.count, index + 1)))
    }
}

#[pymethods]
impl Agents {
    #[new]
    fn new(
        py: Python<'_>,
        intervals: PyBuffer<f64>,
        observations: PyBuffer<f64>,
        rewards: PyBuffer<f64>,
        observation: &str,
        action: &str,
        reward: Option<&str>,
    ) -> PyResult<Self> {
        let observation: Observation = parsed("observation", observation)?;
        let size = observation.size().ok_or_else(|| PyValueError::new_err("observation: its history is too long"))?;
        check("intervals", &intervals, COLUMNS, true)?;
        let count = intervals.shape()[0];
        for (name, buffer, columns) in [("observations", &observations, size), ("rewards", &rewards, 1)] {
            check(name, buffer, columns, true)?;
            if buffer.shape()[0] != count {
                let rows = buffer.shape()[0];
                return Err(PyValueError::new_err(format!("{name}: expected {count} rows, not {rows}")));
            }
        }
        let path = PathFacts { fair_rate: 1.0, base_rtt: 1.0 };
        let rows = Rows {
            intervals: vec![f64::NAN; count * COLUMNS],
            observations: vec![0.0; count * size],
            rewards: vec![0.0; count],
            paths: vec![path; count],
        };
        let action = parsed("action", action)?;
        let reward = reward.map(reward_of).transpose()?;
        let new =
            Self { count, observation, action, reward, state: Mutex::new(rows), intervals, observations, rewards };
        {
            let mut rows = new.lock();
            for index in 0..count {
                new.begin_anew(&mut rows, index, path);
            }
            new.write(py, &rows)?;
        }
        Ok(new)
    }

    /// Forgets the intervals of a flow whose connection begins anew on another path.
    fn restart(&self, py: Python<'_>, index: usize, fair_rate: f64, base_rtt: f64) -> PyResult<()> {
        self.check_index(index)?;
        let mut rows = self.lock();
        self.begin_anew(&mut rows, index, PathFacts { fair_rate, base_rtt });
        self.write(py, &rows)
    }

    /// Appends an interval, given by its measured values in the order of `interval_fields`.
    #[pyo3(name = "push")]
    fn append(&self, py: Python<'_>, index: usize, measured: [f64; MEASURED]) -> PyResult<()> {
        self.check_index(index)?;
        let mut rows = self.lock();
        let interval = rows.measure(index, measured);
        self.observe(&mut rows, index, &interval);
        self.write(py, &rows)
    }

    /// Window (segments) and pacing rate (segments/s) after an action; NaN: unchanged.
    fn decide(&self, index: usize, action: f64) -> PyResult<(f64, f64)> {
        self.check_index(index)?;
        let decided = self.decision(&self.lock(), index, action);
        Ok((decided.cwnd.unwrap_or(f64::NAN), decided.pacing.flatten().unwrap_or(f64::NAN)))
    }
}

/// The reward of an interval on a path.
#[pyfunction]
pub(crate) fn interval_reward(reward: &str, interval: [f64; COLUMNS], fair_rate: f64, base_rtt: f64) -> PyResult<f64> {
    Ok(reward_of(reward)?.of(&Measured::from_row(interval), PathFacts { fair_rate, base_rtt }))
}

/// The factor by which each action changes window or rate.
#[pyfunction]
pub(crate) fn action_factors(action: &str, outputs: Vec<f64>) -> PyResult<Vec<f64>> {
    let action: Action = parsed("action", action)?;
    Ok(outputs.into_iter().map(|output| action.factor(output)).collect())
}
