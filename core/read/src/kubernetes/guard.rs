//! What members may do, and what is refused in their namespaces: exactly as it is planned, or it is
//! not known to hold anybody.

use model::admission::{GUARDS, Guard, MEMBER_ROLES, MemberRole, RUNTIME_LABEL, runtime_word};

use super::{Meta, NOT_OF_THE_KIND, Sheet, no_labels};
use crate::Hold;
use crate::yaml::Node;

const OTHERWISE: &str = "the rules for tenants do not say this; put back what is planned";
const NOT_OURS: &str = "nobody knows what this policy changes or lets pass";

pub(super) fn role_section(child: Node<'_, '_>, _: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    if child.key() != "rules" {
        return sheet.unknown(child, "nobody knows what this adds to the role");
    }
    for key in child.children().flat_map(Node::children) {
        match key.key() {
            "apiGroups" | "resources" | "verbs" => {}
            _ => sheet.unknown(key, NOT_OF_THE_KIND),
        }
    }
}

/// A role may allow what members may do, or less; it is theirs if it allows all of it.
pub(super) fn role(
    root: Node<'_, '_>,
    metadata: Node<'_, '_>,
    meta: &Meta<'_, '_>,
    sheet: &mut Sheet<'_>,
) {
    no_labels(meta, sheet);
    let own = MEMBER_ROLES.iter().find(|role| role.name == meta.name);
    let mut granted = Vec::new();
    for rule in root.get("rules").into_iter().flat_map(Node::children) {
        let part = |key| rule.get(key).into_iter().flat_map(Node::children);
        for group in part("apiGroups") {
            for resource in part("resources") {
                for verb in part("verbs") {
                    let words = [group, resource, verb].map(|node| node.value().unwrap_or("*"));
                    if !own
                        .map_or_else(|| allowed(&MEMBER_ROLES[0], words), |own| allowed(own, words))
                    {
                        sheet.unknown(resource, "members may not do this");
                        sheet.unknown(verb, "members may not do this");
                    }
                    granted.push(words);
                }
            }
        }
    }
    let Some(own) = own else { return };
    let has_all = own.grants.iter().all(|(group, resources, verbs)| {
        resources
            .iter()
            .all(|resource| verbs.iter().all(|verb| granted.contains(&[*group, *resource, *verb])))
    });
    if has_all {
        sheet.claim(metadata, Hold::Allows { role: own.name.into() });
    }
}

fn allowed(role: &MemberRole, [group, resource, verb]: [&str; 3]) -> bool {
    role.grants.iter().any(|(of, resources, verbs)| {
        *of == group && resources.contains(&resource) && verbs.contains(&verb)
    })
}

pub(super) fn policy_section(child: Node<'_, '_>, meta: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    let Some(guard) = guard(meta) else { return sheet.unknown(child, NOT_OURS) };
    if child.key() != "spec" {
        return sheet.unknown(child, NOT_OF_THE_KIND);
    }
    for key in child.children() {
        match key.key() {
            "failurePolicy" => sheet.must_be(key, &["Fail"], "whatever fails must be refused"),
            "matchConstraints" => constraints(key, guard, sheet),
            "variables" => {
                let planned = guard.variables.iter().copied().flatten();
                pairs(key, planned.map(|(name, expression)| (*name, *expression)), "name", sheet);
            }
            "validations" => {
                let planned = guard.checks.iter().copied().flatten();
                let planned = planned.map(|(expression, message)| (*message, *expression));
                pairs(key, planned, "message", sheet);
            }
            _ => sheet.unknown(key, OTHERWISE),
        }
    }
    let needed = ["failurePolicy", "matchConstraints", "validations"];
    let lacks = |key: &&str| child.get(key).is_none();
    let has_variables = guard.variables.is_empty() || child.get("variables").is_some();
    if needed.iter().any(lacks) || !has_variables {
        sheet.unknown(child, OTHERWISE);
    }
}

/// Exactly these, one after the other: a name or message, and an expression.
fn pairs<'g>(
    list: Node<'_, '_>,
    mut planned: impl Iterator<Item = (&'g str, &'g str)>,
    name: &str,
    sheet: &mut Sheet<'_>,
) {
    for item in list.children() {
        let (named, expression) = planned.next().unwrap_or_default();
        for key in item.children() {
            let expected = match key.key() {
                "expression" => expression,
                other if other == name => named,
                _ => "",
            };
            if expected.is_empty() || key.value() != Some(expected) {
                sheet.unknown(key, OTHERWISE);
            }
        }
        if item.get("expression").is_none() || item.get(name).is_none() {
            sheet.unknown(item, OTHERWISE);
        }
    }
    if planned.next().is_some() {
        sheet.unknown(list, OTHERWISE);
    }
}

fn constraints(at: Node<'_, '_>, guard: &Guard, sheet: &mut Sheet<'_>) {
    const NARROW: &str = "what is not matched is not judged";
    for key in at.children() {
        match key.key() {
            "matchPolicy" => sheet.must_be(key, &["Equivalent"], NARROW),
            "namespaceSelector" | "objectSelector" => nothing(key, sheet),
            "resourceRules" => {
                let mut planned = guard.rules.iter();
                for rule in key.children() {
                    let expected = planned.next();
                    let one = |list: Option<&[&str]>, at: Node<'_, '_>, sheet: &mut Sheet<'_>| {
                        // Their order says nothing.
                        let held = at.children().map(|item| item.value().unwrap_or_default());
                        let (mut held, mut list): (Vec<&str>, Vec<&str>) =
                            (held.collect(), list.unwrap_or_default().to_vec());
                        held.sort_unstable();
                        list.sort_unstable();
                        if held != list || held.is_empty() {
                            sheet.unknown(at, OTHERWISE);
                        }
                    };
                    for part in rule.children() {
                        let group = expected.map(|rule| [rule.group]);
                        match part.key() {
                            "apiGroups" => {
                                one(group.as_ref().map(<[&str; 1]>::as_slice), part, sheet)
                            }
                            "apiVersions" => one(Some(&["*"]), part, sheet),
                            "operations" => one(expected.map(|rule| rule.operations), part, sheet),
                            "resources" => one(expected.map(|rule| rule.resources), part, sheet),
                            "scope" => sheet.must_be(part, &["*"], NARROW),
                            _ => sheet.unknown(part, NARROW),
                        }
                    }
                    let needed = ["apiGroups", "apiVersions", "operations", "resources"];
                    if needed.iter().any(|key| rule.get(key).is_none()) {
                        sheet.unknown(rule, OTHERWISE);
                    }
                }
                if planned.next().is_some() {
                    sheet.unknown(key, NARROW);
                }
            }
            _ => sheet.unknown(key, NARROW),
        }
    }
    if at.get("resourceRules").is_none() {
        sheet.unknown(at, NARROW);
    }
}

/// A selector that selects everything.
fn nothing(at: Node<'_, '_>, sheet: &mut Sheet<'_>) {
    at.children().for_each(|key| sheet.unknown(key, "what is not selected is not judged"));
    if at.value().is_some() {
        sheet.unknown(at, OTHERWISE);
    }
}

pub(super) fn policy(
    root: Node<'_, '_>,
    metadata: Node<'_, '_>,
    meta: &Meta<'_, '_>,
    sheet: &mut Sheet<'_>,
) {
    no_labels(meta, sheet);
    must_say(root, metadata, sheet);
    if guard(meta).is_some() && !sheet.is_refused() {
        sheet.claim(metadata, Hold::Refuses { policy: meta.name.into() });
    }
}

/// What says nothing refuses nothing.
fn must_say(root: Node<'_, '_>, metadata: Node<'_, '_>, sheet: &mut Sheet<'_>) {
    if root.get("spec").is_none() {
        sheet.unknown(metadata, OTHERWISE);
    }
}

fn guard(meta: &Meta<'_, '_>) -> Option<&'static Guard> {
    GUARDS.iter().find(|guard| guard.name == meta.name)
}

pub(super) fn binding_section(child: Node<'_, '_>, meta: &Meta<'_, '_>, sheet: &mut Sheet<'_>) {
    let Some(guard) = guard(meta) else { return sheet.unknown(child, NOT_OURS) };
    if child.key() != "spec" {
        return sheet.unknown(child, NOT_OF_THE_KIND);
    }
    for key in child.children() {
        match key.key() {
            "policyName" => sheet.must_be(key, &[guard.name], OTHERWISE),
            "validationActions" => {
                let mut actions = key.children().map(Node::value);
                if actions.next() != Some(Some("Deny")) || actions.next().is_some() {
                    sheet.unknown(key, "what is only told of is not refused");
                }
            }
            "matchResources" => where_it_holds(key, guard, sheet),
            _ => sheet.unknown(key, OTHERWISE),
        }
    }
    let needed = ["policyName", "validationActions", "matchResources"];
    if needed.iter().any(|key| child.get(key).is_none()) {
        sheet.unknown(child, OTHERWISE);
    }
}

fn where_it_holds(at: Node<'_, '_>, guard: &Guard, sheet: &mut Sheet<'_>) {
    for key in at.children() {
        match key.key() {
            "matchPolicy" => sheet.must_be(key, &["Equivalent"], OTHERWISE),
            "objectSelector" => nothing(key, sheet),
            "namespaceSelector" => {
                if !selects(key, guard) {
                    sheet.unknown(
                        key,
                        "the rules hold in every namespace with the label of its \
                                        tenant's runtime, and no other label matters",
                    );
                }
            }
            _ => sheet.unknown(key, OTHERWISE),
        }
    }
    if at.get("namespaceSelector").is_none() {
        sheet.unknown(at, OTHERWISE);
    }
}

fn selects(selector: Node<'_, '_>, guard: &Guard) -> bool {
    let alone = |at: Node<'_, '_>, key: &str| {
        let mut all = at.children();
        all.next().is_some_and(|first| first.key() == key) && all.next().is_none()
    };
    let Some(list) = selector.get("matchExpressions") else { return false };
    let Some(term) = list.children().next() else { return false };
    let values = term.get("values").into_iter().flat_map(Node::children).map(Node::value);
    alone(selector, "matchExpressions")
        && list.children().count() == 1
        && term.children().count() == 3
        && term.text_of("key") == Some(RUNTIME_LABEL)
        && term.text_of("operator") == Some("In")
        && values.eq(guard.runtimes.iter().map(|runtime| Some(runtime_word(*runtime))))
}

pub(super) fn binding(
    root: Node<'_, '_>,
    metadata: Node<'_, '_>,
    meta: &Meta<'_, '_>,
    sheet: &mut Sheet<'_>,
) {
    no_labels(meta, sheet);
    must_say(root, metadata, sheet);
    if guard(meta).is_some() && !sheet.is_refused() {
        sheet.claim(metadata, Hold::Enforced { policy: meta.name.into() });
    }
}
