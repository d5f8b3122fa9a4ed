use model::{Manager, Part};
use plan::Plan;

pub(crate) fn subnet(_plan: &Plan, _manager: &Manager, _part: &Part, _out: &mut String) {}
