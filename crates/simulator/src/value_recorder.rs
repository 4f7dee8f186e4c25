//! Records named values of a sender: variables of its algorithm and of the transport.

use cwndlab_records::rows::NamedValueRow;
use cwndlab_scenario::plan::NamedValuesPlan;
use cwndlab_traffic::NEVER;
use cwndlab_transport::sender::Sender;
use cwndlab_units::{Duration, FlowId, Time};

/// A named value of the sender.
#[derive(Debug)]
struct NamedValue {
    name: &'static str,
    /// Its changes are rows.
    recorded: bool,
    /// Its changes cause a snapshot.
    triggers: bool,
    /// The present value, and that of the last row; none before the first one.
    value: f64,
    last_row: Option<f64>,
}

/// The recorder of a flow.
#[derive(Debug)]
pub(crate) struct ValueRecorder {
    plan: NamedValuesPlan,
    flow: FlowId,
    /// Values in the order in which the sender reports them.
    values: Vec<NamedValue>,
    /// Time of the next regular snapshot.
    next: Time,
    /// The rows so far.
    pub(crate) rows: Vec<NamedValueRow>,
}

impl ValueRecorder {
    /// A recorder without rows.
    pub(crate) fn new(plan: &NamedValuesPlan, flow: FlowId) -> Self {
        let next = plan.interval.map_or(NEVER, |_| Time::ZERO);
        Self { plan: plan.clone(), flow, values: Vec::new(), next, rows: Vec::new() }
    }

    /// Takes the values of the sender after an event, and writes a snapshot where one is due.
    pub(crate) fn take(&mut self, now: Time, sender: &Sender) {
        let mut index = 0;
        let mut triggered = false;
        let values = &mut self.values;
        let plan = &self.plan;
        sender.named_values(&mut |name, value| {
            let at = position(values, index, name).unwrap_or_else(|| {
                values.push(NamedValue::new(name, plan));
                values.len() - 1
            });
            index = at + 1;
            let entry = &mut values[at];
            triggered |= entry.triggers && entry.value.to_bits() != value.to_bits();
            entry.value = value;
        });
        if !triggered && now < self.next {
            return;
        }
        if self.next != NEVER {
            self.next = now + self.plan.interval.unwrap_or(Duration::ZERO);
        }
        for entry in self.values.iter_mut().filter(|entry| entry.recorded) {
            if entry.last_row.is_none_or(|last| last.to_bits() != entry.value.to_bits()) {
                entry.last_row = Some(entry.value);
                let time_ns = now.as_nanos();
                let flow = self.flow.into();
                self.rows.push(NamedValueRow { time_ns, flow, name: entry.name, value: entry.value });
            }
        }
    }
}

impl NamedValue {
    fn new(name: &'static str, plan: &NamedValuesPlan) -> Self {
        let is_in = |names: &[String]| names.iter().any(|one| one == name);
        Self {
            name,
            recorded: plan.names.is_empty() || is_in(&plan.names),
            triggers: is_in(&plan.on_change),
            value: f64::NAN, // differs from each value
            last_row: None,
        }
    }
}

/// The position of a name, which is `index` unless the sender reports other values than before.
fn position(values: &[NamedValue], index: usize, name: &'static str) -> Option<usize> {
    if values.get(index).is_some_and(|entry| std::ptr::eq(entry.name, name) || entry.name == name) {
        return Some(index);
    }
    values.iter().position(|entry| entry.name == name)
}
