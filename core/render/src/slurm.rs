use model::Part;
use plan::Plan;

pub(crate) fn cluster(_plan: &Plan, _part: &Part, _out: &mut String) {}
