//! Models that were discovered, as a Fleet document takes them.

use intent::Source;
use model::NodeModel;

/// The node model of a document with these models, which must be a good one.
#[track_caller]
pub(crate) fn read_again(models: &str) -> NodeModel {
    let said = |refusals: Vec<intent::Refusal>| panic!("{models}\n{}", refusals[0]);
    load(models).unwrap_or_else(said)
}

/// The node model of a document with these models.
pub(crate) fn load(models: &str) -> Result<NodeModel, Vec<intent::Refusal>> {
    let text = format!(
        "apiVersion: bulkhead.dev/v1\nkind: Fleet\nmetadata: {{name: found}}\nspec:\n{models}    \
         racks: {{one: {{nodes: {{model: found, count: 1}}}}}}\n    \
         pods: {{one: {{racks: {{model: one, count: 1}}}}}}\n  \
         sites: [{{name: here, jurisdiction: NL, pods: [{{name: one, model: one}}]}}]\n"
    );
    let loaded = intent::load(&[Source { file: "found.yaml", text: &text }])?;
    Ok(loaded.fleet.node_models[0].clone())
}
