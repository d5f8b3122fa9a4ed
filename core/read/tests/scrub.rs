//! What was there before a job: read back as it was written, whatever people wrote into it.

#![allow(missing_docs, clippy::unwrap_used, reason = "a test fails by panicking")]

mod page;
mod random;

use expect_test::expect;
use model::{Dialect, Evidence, JobName, Memory, NodeId, Part, Past};
use plan::Plan;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use read::{Cleaned, Fact, Hold, PastOwner};

const WORLDS: usize = 150;

const TEXT: &str = "\
clean a/b nics 0,1
clean a/b nics 0,0
clean a/b nics 64
clean a/b
after a/b nics 2 c/d owing hbm,nic
after a/b nics 2 c/d owing tape
after a/b nics 2 c/d
scrubbed a/b nics 2 c/d hbm by n1 at now method zeros read-back all%20of%20it
scrubbed a/b nics 2 c/d hbm by n1 at now method zeros read-back
scrubbed a/b nics 2 c/d hbm by n1 at now method  read-back all
scrubbed a/b nics 2 c/d hbm by n1 at now method zer%6 read-back all
scrubbed a/b nics 2 c/d hbm by n1 at now method %+f read-back all
scrubbed a/b nics 2 c/d hbm by n1 at now method %ff read-back all
";

#[test]
fn what_was_left_is_read_back() {
    let mut runner = TestRunner::deterministic();
    let (mut pasts, mut cleans) = (0, 0);
    for _ in 0..WORLDS {
        let tree = random::world(&[Dialect::Versions]).new_tree(&mut runner).unwrap();
        let (documents, wishes) = tree.current();
        let mut plan = random::planned(&documents, &wishes);
        let jobs: Vec<JobName> = plan.jobs.keys().cloned().collect();
        for job in jobs {
            let shares: Vec<_> = plan.shares(&job, &plan.jobs[&job]).collect();
            let (node, share) = shares[0];
            let left = past(node, share.nics).new_tree(&mut runner).unwrap().current();
            pasts += 1;
            cleans += usize::from(left.nics != share.nics);
            plan.pasts.insert(job.clone(), vec![left]);
            assert_eq!(said(&plan, node, &job), meant(&plan, node, &job));
        }
    }
    assert!(pasts > 300 && cleans > 100, "{pasts} were left, {cleans} in part");
}

/// What was left on some of these interfaces; whoever scrubbed wrote what it liked.
fn past(node: NodeId, nics: u64) -> impl Strategy<Value = Past> {
    let any_word = || any::<String>().prop_filter("something", |word| !word.is_empty());
    let one = (0..Memory::ALL.len(), any_word(), any_word(), any_word());
    let one = one.prop_map(|(memory, method, read_back, at)| Evidence {
        memory: Memory::ALL[memory],
        method: method.into(),
        read_back: read_back.into(),
        by: "n1".parse().unwrap(),
        at: at.into(),
    });
    (any::<u64>(), vec(one, 0..3)).prop_map(move |(some, evidence)| Past {
        node,
        nics: if nics & some == 0 { nics } else { nics & some },
        left_by: "dog/walk".parse().unwrap(),
        owing: vec![Memory::Hbm, Memory::Nic],
        evidence,
    })
}

fn said(plan: &Plan, node: NodeId, job: &JobName) -> Vec<Hold> {
    let device = plan.fleet.node_device(node);
    let text = render::part(plan, device, Dialect::Scrub, &Part::Job(job.clone())).unwrap();
    let reading = read::claims(Dialect::Scrub, &text);
    assert_eq!(reading.unknown, [], "{text}");
    let holds = reading.claims.into_iter().map(|claim| match claim.fact {
        Fact::Holds(hold) => hold,
        other => panic!("{other:?} is of no layer"),
    });
    holds.collect()
}

fn meant(plan: &Plan, node: NodeId, job: &JobName) -> Vec<Hold> {
    let nics = plan.nodes[&node][job].nics;
    let past = &plan.pasts[job][0];
    let mut holds = Vec::new();
    if nics != past.nics {
        holds.push(Hold::Clean { job: job.clone(), nics: nics & !past.nics });
    }
    let left = Box::new(PastOwner { by: past.left_by.clone(), owing: past.owing.clone() });
    holds.push(Hold::After { job: job.clone(), nics: past.nics, left });
    holds.extend(past.evidence.iter().map(|evidence| Hold::Scrubbed {
        job: job.clone(),
        nics: past.nics,
        cleaned: Box::new(Cleaned { after: past.left_by.clone(), evidence: evidence.clone() }),
    }));
    holds
}

#[test]
fn evidence_says_all_of_it_or_nothing() {
    expect![[r#"
        1: Holds(Clean { job: JobName { tenant: TenantName("a"), name: Name("b") }, nics: 3 })
        5: Holds(After { job: JobName { tenant: TenantName("a"), name: Name("b") }, nics: 4, left: PastOwner { by: JobName { tenant: TenantName("c"), name: Name("d") }, owing: [Hbm, Nic] } })
        8: Holds(Scrubbed { job: JobName { tenant: TenantName("a"), name: Name("b") }, nics: 4, cleaned: Cleaned { after: JobName { tenant: TenantName("c"), name: Name("d") }, evidence: Evidence { memory: Hbm, method: "zeros", read_back: "all of it", by: Name("n1"), at: "now" } } })
        2? clean a/b nics 0,0
           an interface stands there twice
        3? clean a/b nics 64
           an interface is a number from 0 to 63
        4? clean a/b
           no line of this dialect is written so
        6? after a/b nics 2 c/d owing tape
           a memory is hbm, sram, ram, nvme or nic
        7? after a/b nics 2 c/d
           no line of this dialect is written so
        9? scrubbed a/b nics 2 c/d hbm by n1 at now method zeros read-back
           evidence says who scrubbed which memory when, how, and how it was read back
        10? scrubbed a/b nics 2 c/d hbm by n1 at now method  read-back all
           evidence says who scrubbed which memory when, how, and how it was read back
        11? scrubbed a/b nics 2 c/d hbm by n1 at now method zer%6 read-back all
           after a percent sign stand the two digits of a byte
        12? scrubbed a/b nics 2 c/d hbm by n1 at now method %+f read-back all
           after a percent sign stand the two digits of a byte
        13? scrubbed a/b nics 2 c/d hbm by n1 at now method %ff read-back all
           evidence is written in UTF-8
    "#]]
    .assert_eq(&page::told(Dialect::Scrub, TEXT));
    page::the_list_is_ignored(Dialect::Scrub);
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in page::any_text()) {
        page::no_line_is_known_and_unknown(Dialect::Scrub, &text);
        prop_assert!(read::differences(Dialect::Scrub, &text, &text).is_empty());
    }

    #[test]
    fn no_cut_is_too_strange(cut in page::cut(&[TEXT])) {
        page::no_line_is_known_and_unknown(Dialect::Scrub, &cut);
    }

    #[test]
    fn parts_say_together_what_they_say_alone(parts in page::parts(&[TEXT, "clean a/b nics 7\n"])) {
        page::parts_say_together_what_they_say_alone(Dialect::Scrub, &parts);
    }
}
