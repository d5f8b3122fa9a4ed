//! Many agents on one machine.

#[test]
fn a_job_starts_on_fifty_agents_and_every_one_acknowledges() {
    let rehearsal = agent::rehearse(50).unwrap();
    assert_eq!(rehearsal.agents, 50);
    assert!(rehearsal.p50 <= rehearsal.p99);
}
