//! After any sequence of changes the verifier that judged only what each change touched says the
//! same as one that reads everything anew.

use cases::{Chance, at_random, world};
use verify::Finding;

#[test]
fn judging_what_changed_equals_judging_everything() {
    for seed in 0..300 {
        let mut chance = Chance::new(seed ^ 0xbeef);
        let world = world(seed);
        let fleet = &world.plan.fleet;
        let mut artifacts = world.artifacts.clone();
        let mut kept = verify::reading(fleet, &world.owners, &artifacts);
        assert_eq!(kept.judge(), [], "seed {seed} is sound at first");
        for step in 0..20 {
            let before = artifacts.clone();
            if chance.percent(20) {
                artifacts.clone_from(&world.artifacts);
            } else if at_random(&mut artifacts, &mut chance).is_none() {
                continue;
            }
            for (old, new) in before.iter().zip(&artifacts) {
                for (old, new) in old.parts.iter().zip(&new.parts).filter(|(old, new)| old != new) {
                    assert_eq!(old.part, new.part);
                }
                for part in new.parts.iter().filter(|part| !old.parts.contains(part)) {
                    let reading = read::claims(new.dialect, &part.text);
                    kept.take(new.device, new.dialect, &part.part, Some(reading));
                }
            }
            let anew = verify::findings(fleet, &world.owners, &artifacts);
            let show = |found: &[Finding]| -> Vec<String> {
                found.iter().map(|finding| finding.sentence(fleet)).collect()
            };
            let kept_says = kept.judge();
            assert_eq!(show(&kept_says), show(&anew), "seed {seed}, step {step}");
            for (kept, anew) in kept_says.iter().zip(&anew) {
                assert_eq!(kept, anew, "seed {seed}, step {step}: the evidence differs");
            }
        }
    }
}
