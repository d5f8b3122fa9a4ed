//! What members of tenants may do, and what is refused in their namespaces whoever asks.

use model::admission::{GUARDS, Guard, MEMBER_ROLES, MemberRole, RUNTIME_LABEL, runtime_word};

use crate::say::say;

const ADMISSION: &str = "admissionregistration.k8s.io/v1";

pub(super) fn write(out: &mut String) {
    MEMBER_ROLES.iter().for_each(|found| role(found, out));
    for guard in &GUARDS {
        policy(guard, out);
        binding(guard, out);
    }
}

/// Kubernetes' own `edit` would let members change the policies that keep others out.
fn role(role: &MemberRole, out: &mut String) {
    say!(out, "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n");
    say!(out, "  name: ", role.name, "\nrules:\n");
    for (group, resources, verbs) in role.grants {
        say!(out, "- apiGroups:\n");
        items("  ", &[group], out);
        say!(out, "  resources:\n");
        items("  ", resources, out);
        say!(out, "  verbs:\n");
        items("  ", verbs, out);
    }
}

fn policy(guard: &Guard, out: &mut String) {
    say!(out, "---\napiVersion: ", ADMISSION, "\nkind: ValidatingAdmissionPolicy\n");
    say!(out, "metadata:\n  name: ", guard.name, "\nspec:\n  failurePolicy: Fail\n");
    say!(out, "  matchConstraints:\n    matchPolicy: Equivalent\n    namespaceSelector: {}\n");
    say!(out, "    objectSelector: {}\n    resourceRules:\n");
    for rule in guard.rules {
        say!(out, "    - apiGroups:\n");
        items("      ", &[rule.group], out);
        say!(out, "      apiVersions:\n      - \"*\"\n      operations:\n");
        items("      ", rule.operations, out);
        say!(out, "      resources:\n");
        items("      ", rule.resources, out);
        say!(out, "      scope: \"*\"\n");
    }
    let mut variables = guard.variables.iter().copied().flatten().peekable();
    if variables.peek().is_some() {
        say!(out, "  variables:\n");
    }
    for (name, expression) in variables {
        say!(out, "  - name: ", *name, "\n    expression: ", Expression(expression), "\n");
    }
    say!(out, "  validations:\n");
    for (expression, message) in guard.checks.iter().copied().flatten() {
        say!(out, "  - expression: ", Expression(expression), "\n    message: ", *message, "\n");
    }
}

fn binding(guard: &Guard, out: &mut String) {
    say!(out, "---\napiVersion: ", ADMISSION, "\nkind: ValidatingAdmissionPolicyBinding\n");
    say!(out, "metadata:\n  name: ", guard.name, "\nspec:\n  policyName: ", guard.name, "\n");
    say!(out, "  matchResources:\n    matchPolicy: Equivalent\n    namespaceSelector:\n");
    say!(out, "      matchExpressions:\n      - key: ", RUNTIME_LABEL, "\n");
    say!(out, "        operator: In\n        values:\n");
    for runtime in guard.runtimes {
        say!(out, "        - ", runtime_word(*runtime), "\n");
    }
    say!(out, "    objectSelector: {}\n  validationActions:\n  - Deny\n");
}

fn items(indent: &str, all: &[&str], out: &mut String) {
    for one in all {
        say!(out, indent, "- ", Expression(one), "\n");
    }
}

/// A text of the rules: plain, unless YAML would take its beginning for something else. Nothing in
/// it is more than that: no colon before a space, no space before a hash.
struct Expression<'a>(&'a str);

impl crate::say::Say for Expression<'_> {
    fn say(&self, out: &mut String) {
        let is_plain =
            self.0.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '(');
        if is_plain {
            out.push_str(self.0);
        } else {
            say!(out, "\"", self.0, "\"");
        }
    }
}
