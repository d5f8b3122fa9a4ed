//! How NVIDIA's GPUs can be cut: the MIG profiles of each product, and where they may begin.

/// One way to cut a GPU: a profile of NVIDIA's Multi-Instance GPU.
///
/// A GPU that can be cut is a row of eight memory slots. An instance takes as many slots in a row
/// as it has memory slices, and two instances never share a slot; that alone keeps the compute
/// slices of all of them within the seven a GPU has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MigProfile {
    /// What people call it, such as `1g.10gb`. Drivers round the memory in it differently.
    pub name: &'static str,
    /// The driver's number for it, where somebody has seen it.
    pub gi_profile_id: Option<u8>,
    /// How many of the GPU's seven compute slices it has.
    pub compute_slices: u8,
    /// How many of the GPU's eight memory slots it takes.
    pub memory_slices: u8,
    /// The slots an instance may begin at.
    pub starts: &'static [u8],
    /// Whether it has the media engines, which at most one instance of a GPU has.
    pub media_engines: bool,
}

/// The profiles of a product, such as `H100-80GB`. Of a product nobody knows there are none.
#[must_use]
pub fn mig_profiles(product: &str) -> &'static [MigProfile] {
    let found = PRODUCTS.iter().find(|(name, _)| *name == product);
    found.map_or(&[], |&(_, profiles)| profiles)
}

/// Every product whose profiles are known.
///
/// Of the last six only names and numbers of instances are published; what they have is what those
/// imply, and no media engines.
const PRODUCTS: [(&str, &[MigProfile]); 11] = [
    (
        "A100-40GB",
        &[
            ONE.called("1g.5gb", Some(19)),
            ONE_WITH_MEDIA.called("1g.5gb+me", Some(20)),
            ONE_DOUBLE.called("1g.10gb", Some(15)),
            TWO.called("2g.10gb", Some(14)),
            THREE.called("3g.20gb", Some(9)),
            FOUR.called("4g.20gb", Some(5)),
            SEVEN.called("7g.40gb", Some(0)),
        ],
    ),
    ("A100-80GB", &EIGHTY_GIGABYTES),
    ("H100-80GB", &EIGHTY_GIGABYTES),
    (
        "H200-141GB",
        &[
            ONE.called("1g.18gb", Some(19)),
            ONE_WITH_MEDIA.called("1g.18gb+me", Some(20)),
            ONE_DOUBLE.called("1g.35gb", None),
            TWO.called("2g.35gb", Some(14)),
            THREE.called("3g.71gb", None),
            FOUR.called("4g.71gb", None),
            SEVEN.called("7g.141gb", Some(0)),
        ],
    ),
    (
        "B200-180GB",
        &[
            ONE.called("1g.23gb", None),
            ONE_WITH_MEDIA.called("1g.23gb+me", None),
            ONE_DOUBLE.called("1g.45gb", None),
            TWO.called("2g.45gb", None),
            THREE.called("3g.90gb", None),
            FOUR.called("4g.90gb", None),
            SEVEN.called("7g.180gb", None),
        ],
    ),
    ("H100-94GB", &six(["1g.12gb", "1g.24gb", "2g.24gb", "3g.47gb", "4g.47gb", "7g.94gb"])),
    ("H20-96GB", &NINETY_SIX_GIGABYTES),
    ("GH200-96GB", &NINETY_SIX_GIGABYTES),
    ("GB200-186GB", &six(["1g.23gb", "1g.47gb", "2g.47gb", "3g.93gb", "4g.93gb", "7g.186gb"])),
    ("B300-269GB", &six(["1g.34gb", "1g.67gb", "2g.67gb", "3g.135gb", "4g.135gb", "7g.269gb"])),
    ("GB300-278GB", &six(["1g.35gb", "1g.70gb", "2g.70gb", "3g.139gb", "4g.139gb", "7g.278gb"])),
];

const EIGHTY_GIGABYTES: [MigProfile; 7] = [
    ONE.called("1g.10gb", Some(19)),
    ONE_WITH_MEDIA.called("1g.10gb+me", Some(20)),
    ONE_DOUBLE.called("1g.20gb", Some(15)),
    TWO.called("2g.20gb", Some(14)),
    THREE.called("3g.40gb", Some(9)),
    FOUR.called("4g.40gb", Some(5)),
    SEVEN.called("7g.80gb", Some(0)),
];

const NINETY_SIX_GIGABYTES: [MigProfile; 6] =
    six(["1g.12gb", "1g.24gb", "2g.24gb", "3g.48gb", "4g.48gb", "7g.96gb"]);

const fn six(names: [&'static str; 6]) -> [MigProfile; 6] {
    [
        ONE.called(names[0], None),
        ONE_DOUBLE.called(names[1], None),
        TWO.called(names[2], None),
        THREE.called(names[3], None),
        FOUR.called(names[4], None),
        SEVEN.called(names[5], None),
    ]
}

const ONE: MigProfile = cut(1, 1, &[0, 1, 2, 3, 4, 5, 6]);
const ONE_WITH_MEDIA: MigProfile = MigProfile { media_engines: true, ..ONE };
const ONE_DOUBLE: MigProfile = cut(1, 2, &[0, 2, 4, 6]);
const TWO: MigProfile = cut(2, 2, &[0, 2, 4]);
const THREE: MigProfile = cut(3, 4, &[0, 4]);
const FOUR: MigProfile = cut(4, 4, &[0]);
const SEVEN: MigProfile = cut(7, 8, &[0]);

const fn cut(compute_slices: u8, memory_slices: u8, starts: &'static [u8]) -> MigProfile {
    MigProfile {
        name: "",
        gi_profile_id: None,
        compute_slices,
        memory_slices,
        starts,
        media_engines: false,
    }
}

impl MigProfile {
    const fn called(self, name: &'static str, gi_profile_id: Option<u8>) -> Self {
        Self { name, gi_profile_id, ..self }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_profile_stays_on_its_gpu_and_has_a_name_of_its_own() {
        for (product, profiles) in PRODUCTS {
            let names: BTreeSet<&str> = profiles.iter().map(|profile| profile.name).collect();
            assert_eq!(names.len(), profiles.len(), "{product}");
            for profile in profiles {
                let slices = format!("{}g.", profile.compute_slices);
                assert!(profile.name.starts_with(&slices), "{product} {}", profile.name);
                assert_eq!(profile.name.ends_with("+me"), profile.media_engines);
                assert!(!profile.starts.is_empty());
                assert!(profile.starts.iter().all(|start| start + profile.memory_slices <= 8));
            }
        }
    }

    #[test]
    fn what_a_product_has_is_found_by_its_exact_name() {
        let names = |product| mig_profiles(product).iter().map(|profile| profile.name);
        assert!(names("H100-80GB").eq([
            "1g.10gb",
            "1g.10gb+me",
            "1g.20gb",
            "2g.20gb",
            "3g.40gb",
            "4g.40gb",
            "7g.80gb"
        ]));
        assert_eq!(mig_profiles("A100-40GB").last().unwrap().name, "7g.40gb");
        assert_eq!(mig_profiles("H100"), []);
    }
}
