//! What the driver's library adds to modelled nodes, how it is compared with what the kernel shows,
//! and how it fails. The library is a model of NVIDIA's (`library.c`), loaded as theirs would be.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

#[path = "../hardware/document.rs"]
mod document;
mod library;
mod silence;
#[path = "../hardware/tree.rs"]
mod tree;

use document::read_again;
use expect_test::{Expect, expect};
use model::Dialect;
use observe::hardware::{Hardware, Known, Note, Nvml, Unread, hardware};
use tree::Tree;

const HGX_H100: Node = Node {
    files: include_str!("../hardware/trees/hgx-h100.tree"),
    says: include_str!("boards/hgx-h100.nvml"),
};
const A100_MIG: Node = Node {
    files: include_str!("../hardware/trees/a100-mig.tree"),
    says: include_str!("boards/a100-mig.nvml"),
};
const NVL72_TRAY: Node = Node {
    files: include_str!("../hardware/trees/nvl72-tray.tree"),
    says: include_str!("boards/nvl72-tray.nvml"),
};
/// Four cards that no board joins, of which two are the driver's.
const CARDS: Node = Node {
    files: include_str!("../hardware/trees/acs-off.tree"),
    says: "driver 550.90.07\n\
           gpu 00000000:23:00.0 GPU-1 module 1 nvlinks 0/0 mig never\n\
           gpu 00000000:43:00.0 GPU-2 module 1 nvlinks 0/0 mig never\n",
};

/// A node's files, and what its library says.
#[derive(Clone, Copy)]
struct Node {
    files: &'static str,
    says: &'static str,
}

impl Node {
    fn look(self) -> Result<Hardware, Unread> {
        look(self.files, self.says, &Known::default())
    }
}

fn look(files: &str, says: &str, known: &Known) -> Result<Hardware, Unread> {
    let tree = Tree::grow(files);
    library::put(&tree.root, says);
    hardware(&tree.root, &Nvml { root: &tree.root }, known)
}

/// Everything that a reader of the discovered node is told.
fn said(found: &Result<Hardware, Unread>) -> String {
    let found = match found {
        Ok(found) => found,
        Err(error) => return format!("error: {error}\n"),
    };
    let document = found.document(&"found".parse().unwrap());
    let gpus = document.text.lines().filter(|line| line.trim_start().starts_with("gpu"));
    let mut text: String = gpus.map(|line| format!("{}\n", line.trim_start())).collect();
    text += &found.mig().unwrap_or_else(|silence| format!("silent: {silence}\n"));
    for note in &document.notes {
        text += &format!("{note}\n");
    }
    text
}

#[track_caller]
fn check(node: Node, expected: Expect) {
    let found = node.look();
    expected.assert_eq(&said(&found));
    let found = found.unwrap();
    let document = found.document(&"found".parse().unwrap());
    assert!(document.is_whole());
    assert_eq!(read_again(&document.text).pci, found.layout);
    assert!(read::claims(Dialect::Mig, &found.mig().unwrap()).unknown.is_empty());
    // Whoever knows the layout from the document hears the same.
    let known = Known { layout: found.layout.clone(), ..Known::default() };
    let again = look(node.files, node.says, &known).unwrap();
    assert_eq!((again.vfio(), again.mig()), (found.vfio(), found.mig()));
}

/// What one change of what the library says changes in what is told.
#[track_caller]
fn change(node: Node, from: &str, to: &str, expected: Expect) {
    assert_eq!(node.says.matches(from).count(), 1, "`{from}` is not there once");
    let before = said(&node.look());
    let after = said(&look(node.files, &node.says.replace(from, to), &Known::default()));
    let mut text = String::new();
    for (mark, lines, others) in [("-", &before, &after), ("+", &after, &before)] {
        for line in lines.lines().filter(|line| !others.lines().any(|other| other == *line)) {
            text += &format!("{mark} {line}\n");
        }
    }
    expected.assert_eq(&text);
}

#[test]
fn a_board_is_numbered_by_its_module_ids() {
    check(
        HGX_H100,
        expect![[r#"
        gpu: {product: H100-80GB, board: HGX-H100/H200-8GPU}
        gpus: 8
        gpuPci: ["0000:9d:00.0", "0000:d1:00.0", "0000:c3:00.0", "0000:df:00.0", "0000:1b:00.0", "0000:52:00.0", "0000:43:00.0", "0000:61:00.0"]
        gpuIommuGroups: [29, 33, 31, 35, 21, 25, 23, 27]
        gpuNumaNodes: [1, 1, 1, 1, 0, 0, 0, 0]
        left out: interface 0000:27:05.0 has no link, so that its rate is unknown
        left out: interface 0000:29:00.0 has only 200Gbps
        inferred: 8 GPUs with id 10de:2330 are called H100-80GB, on the board HGX-H100/H200-8GPU
    "#]],
    );
}

#[test]
fn instances_have_their_profiles_and_slots() {
    check(
        A100_MIG,
        expect![[r#"
        gpu: {product: A100-80GB, board: HGX-A100-8GPU}
        gpus: 8
        gpuPci: ["0000:47:00.0", "0000:4e:00.0", "0000:07:00.0", "0000:0f:00.0", "0000:b7:00.0", "0000:bd:00.0", "0000:87:00.0", "0000:90:00.0"]
        gpuIommuGroups: [34, 36, 30, 32, 42, 44, 38, 40]
        gpuNumaNodes: [1, 1, 3, 3, 5, 5, 7, 7]
        gpu 3 mig on
        instance 3 3g.40gb start 0
        instance 3 2g.20gb start 4
        inferred: 8 GPUs with id 10de:20b2 are called A100-80GB, on the board HGX-A100-8GPU
    "#]],
    );
}

#[test]
fn gpus_of_a_rack_are_in_its_fabric() {
    check(
        NVL72_TRAY,
        expect![[r#"
        gpu: {product: GB200-186GB, board: GB200-NVL72}
        gpus: 4
        gpuPci: ["0009:01:00.0", "0008:01:00.0", "0019:01:00.0", "0018:01:00.0"]
        gpuIommuGroups: [3, 1, 7, 5]
        gpuNumaNodes: [0, 0, 1, 1]
        unknown: nothing here says the container toolkit's version
        inferred: the firmware's version is `1.3.2 GB200`, written 1.3.2_GB200
        inferred: 4 GPUs with id 10de:2941 are called GB200-186GB, on the board GB200-NVL72
    "#]],
    );
    let found = NVL72_TRAY.look().unwrap();
    expect![[r#"
        Some(
            Card {
                uuid: Some(
                    "GPU-7f150524-34b9-45df-9e77-69b10f4205b4",
                ),
                module: Some(
                    1,
                ),
                cut: Some(
                    MigCut {
                        is_on: false,
                        instances: [],
                    },
                ),
                nvlinks: Some(
                    Nvlinks {
                        active: 18,
                        all: 18,
                    },
                ),
                fabric: Some(
                    Joined {
                        cluster: "3f98e277-4cbd-47ad-9c90-a9587403e430",
                        clique: 32766,
                    },
                ),
            },
        )"#]]
    .assert_eq(&format!("{:#?}", found.card(0)));
}

#[test]
fn cards_that_no_board_joins_keep_the_order_of_their_addresses() {
    check(
        CARDS,
        expect![[r#"
        gpu: {product: L40S-48GB, board: PCIe}
        gpus: 4
        gpuPci: ["0000:22:00.0", "0000:23:00.0", "0000:42:00.0", "0000:43:00.0"]
        gpuIommuGroups: [9, 9, 14, 15]
        gpuNumaNodes: [0, 0, 0, 0]
        inferred: GPUs are numbered in the order of their PCI addresses: they are cards without a board that joins them, whatever their module ids ([1, 1])
        inferred: 7 of the functions name no NUMA node; the node has only 0
        unknown: nothing here says the container toolkit's version
        inferred: 4 GPUs with id 10de:26b9 are called L40S-48GB, on the board PCIe
    "#]],
    );
}

#[test]
fn a_changed_slot_is_seen() {
    change(
        A100_MIG,
        "profile 14 start 4 size 2",
        "profile 14 start 6 size 2",
        expect![[r#"
        - instance 3 2g.20gb start 4
        + instance 3 2g.20gb start 6
    "#]],
    );
    change(
        A100_MIG,
        "start 0 size 4",
        "start 0 size 3",
        expect![[r#"
            + contradiction: instance gi7 of the GPU at 0000:07:00.0 has 3 slots as NVML says, and a 3g.40gb has 4
        "#]],
    );
    change(
        A100_MIG,
        "instance 0 id 8 ",
        "instance 0 id 9 ",
        expect![[r#"
            + contradiction: the GPU at 0000:07:00.0 has the instances gi7, gi8 as procfs shows, and gi7, gi9 as NVML says
        "#]],
    );
    change(
        A100_MIG,
        "instance 0 id 8 ",
        "instance 3 id 8 ",
        expect![[r#"
            - instance 3 2g.20gb start 4
            + contradiction: the GPU at 0000:07:00.0 has the instances gi7, gi8 as procfs shows, and gi7 as NVML says
        "#]],
    );
}

#[test]
fn a_changed_module_id_is_seen() {
    let swapped = HGX_H100.says.replace("module 5", "module 0").replace("module 7", "module 5");
    let swapped = swapped.replace("module 0", "module 7");
    let after = look(HGX_H100.files, &swapped, &Known::default()).unwrap();
    let before = HGX_H100.look().unwrap();
    let differences = read::differences(Dialect::Vfio, &before.vfio(), &after.vfio());
    assert_eq!(differences.len(), 4, "two functions have changed places");
    let known = Known { layout: before.layout, ..Known::default() };
    let contradicted = look(HGX_H100.files, &swapped, &known).unwrap().notes;
    let contradicted: Vec<String> = contradicted.iter().map(Note::to_string).collect();
    expect![[r#"
        contradiction: 0000:1b:00.0 is numbered 5, and is module 7 as NVML says
        contradiction: 0000:43:00.0 is numbered 7, and is module 5 as NVML says"#]]
    .assert_eq(&contradicted.join("\n"));
    change(
        HGX_H100,
        "module 5",
        "module 4",
        expect![[r#"
            - gpuPci: ["0000:9d:00.0", "0000:d1:00.0", "0000:c3:00.0", "0000:df:00.0", "0000:1b:00.0", "0000:52:00.0", "0000:43:00.0", "0000:61:00.0"]
            - gpuIommuGroups: [29, 33, 31, 35, 21, 25, 23, 27]
            - gpuNumaNodes: [1, 1, 1, 1, 0, 0, 0, 0]
            + gpuPci: "fill this in"
            + gpuIommuGroups: "fill this in"
            + gpuNumaNodes: "fill this in"
            + silent: it is not known which GPU has which module id
            + contradiction: the GPUs here are modules [1, 2, 3, 4, 4, 6, 7, 8] of their board, which has a gap: a GPU is missing, is not its driver's, or two have the same module id; look at a node that is whole, or name the modules yourself
        "#]],
    );
    change(
        HGX_H100,
        "module 8",
        "module 9",
        expect![[r#"
            - gpuPci: ["0000:9d:00.0", "0000:d1:00.0", "0000:c3:00.0", "0000:df:00.0", "0000:1b:00.0", "0000:52:00.0", "0000:43:00.0", "0000:61:00.0"]
            - gpuIommuGroups: [29, 33, 31, 35, 21, 25, 23, 27]
            - gpuNumaNodes: [1, 1, 1, 1, 0, 0, 0, 0]
            + gpuPci: "fill this in"
            + gpuIommuGroups: "fill this in"
            + gpuNumaNodes: "fill this in"
            + silent: it is not known which GPU has which module id
            + contradiction: the GPUs here are modules [1, 2, 3, 4, 5, 6, 7, 9] of their board, which has a gap: a GPU is missing, is not its driver's, or two have the same module id; look at a node that is whole, or name the modules yourself
        "#]],
    );
    change(
        HGX_H100,
        "module 8",
        "module 0",
        expect![[r#"
            - gpuPci: ["0000:9d:00.0", "0000:d1:00.0", "0000:c3:00.0", "0000:df:00.0", "0000:1b:00.0", "0000:52:00.0", "0000:43:00.0", "0000:61:00.0"]
            - gpuIommuGroups: [29, 33, 31, 35, 21, 25, 23, 27]
            - gpuNumaNodes: [1, 1, 1, 1, 0, 0, 0, 0]
            + gpuPci: "fill this in"
            + gpuIommuGroups: "fill this in"
            + gpuNumaNodes: "fill this in"
            + silent: it is not known which GPU has which module id
            + contradiction: the GPUs here are modules [1, 2, 3, 4, 5, 6, 7] of their board, which has a gap, and nobody says which 0000:61:00.0 is: a GPU is missing, is not its driver's, or two have the same module id; look at a node that is whole, or name the modules yourself
        "#]],
    );
}

#[test]
fn a_changed_address_is_seen() {
    change(
        HGX_H100,
        "00000000:C3:00.0",
        "00000000:C4:00.0",
        expect![[r#"
            - gpuPci: ["0000:9d:00.0", "0000:d1:00.0", "0000:c3:00.0", "0000:df:00.0", "0000:1b:00.0", "0000:52:00.0", "0000:43:00.0", "0000:61:00.0"]
            - gpuIommuGroups: [29, 33, 31, 35, 21, 25, 23, 27]
            - gpuNumaNodes: [1, 1, 1, 1, 0, 0, 0, 0]
            + gpuPci: "fill this in"
            + gpuIommuGroups: "fill this in"
            + gpuNumaNodes: "fill this in"
            + silent: it is not known which GPU has which module id
            + contradiction: the GPUs here are modules [1, 2, 4, 5, 6, 7, 8] of their board, which has a gap, and nobody says which 0000:c3:00.0 is: a GPU is missing, is not its driver's, or two have the same module id; look at a node that is whole, or name the modules yourself
            + contradiction: NVML has a GPU at 0000:c4:00.0, and sysfs shows none there
            + contradiction: the driver has the GPU at 0000:c3:00.0, and NVML does not know it
        "#]],
    );
    change(
        HGX_H100,
        "00000000:C3:00.0",
        "00010000:C3:00.0",
        expect![[r#"
            - gpuPci: ["0000:9d:00.0", "0000:d1:00.0", "0000:c3:00.0", "0000:df:00.0", "0000:1b:00.0", "0000:52:00.0", "0000:43:00.0", "0000:61:00.0"]
            - gpuIommuGroups: [29, 33, 31, 35, 21, 25, 23, 27]
            - gpuNumaNodes: [1, 1, 1, 1, 0, 0, 0, 0]
            + gpuPci: "fill this in"
            + gpuIommuGroups: "fill this in"
            + gpuNumaNodes: "fill this in"
            + silent: it is not known which GPU has which module id
            + contradiction: the GPUs here are modules [1, 2, 4, 5, 6, 7, 8] of their board, which has a gap, and nobody says which 0000:c3:00.0 is: a GPU is missing, is not its driver's, or two have the same module id; look at a node that is whole, or name the modules yourself
            + unknown: where one of the GPUs is: it says 00010000:C3:00.0, which is no common address, or says it twice
            + contradiction: the driver has the GPU at 0000:c3:00.0, and NVML does not know it
        "#]],
    );
    change(
        HGX_H100,
        "00000000:C3:00.0",
        "00000000:9D:00.0",
        expect![[r#"
            - gpuPci: ["0000:9d:00.0", "0000:d1:00.0", "0000:c3:00.0", "0000:df:00.0", "0000:1b:00.0", "0000:52:00.0", "0000:43:00.0", "0000:61:00.0"]
            - gpuIommuGroups: [29, 33, 31, 35, 21, 25, 23, 27]
            - gpuNumaNodes: [1, 1, 1, 1, 0, 0, 0, 0]
            + gpuPci: "fill this in"
            + gpuIommuGroups: "fill this in"
            + gpuNumaNodes: "fill this in"
            + silent: it is not known which GPU has which module id
            + contradiction: the GPUs here are modules [1, 2, 4, 5, 6, 7, 8] of their board, which has a gap, and nobody says which 0000:c3:00.0 is: a GPU is missing, is not its driver's, or two have the same module id; look at a node that is whole, or name the modules yourself
            + unknown: where one of the GPUs is: it says 00000000:9D:00.0, which is no common address, or says it twice
            + contradiction: the driver has the GPU at 0000:c3:00.0, and NVML does not know it
        "#]],
    );
    let known = Known { layout: HGX_H100.look().unwrap().layout, ..Known::default() };
    let moved = HGX_H100.says.replace("00000000:C3:00.0", "00000000:C4:00.0");
    expect![[r#"
        gpu: {product: H100-80GB, board: HGX-H100/H200-8GPU}
        gpus: 8
        gpuPci: ["0000:9d:00.0", "0000:d1:00.0", "0000:c3:00.0", "0000:df:00.0", "0000:1b:00.0", "0000:52:00.0", "0000:43:00.0", "0000:61:00.0"]
        gpuIommuGroups: [29, 33, 31, 35, 21, 25, 23, 27]
        gpuNumaNodes: [1, 1, 1, 1, 0, 0, 0, 0]
        gpu 3 mig unknown
        contradiction: NVML has a GPU at 0000:c4:00.0, and sysfs shows none there
        contradiction: the driver has the GPU at 0000:c3:00.0, and NVML does not know it
        inferred: 8 GPUs with id 10de:2330 are called H100-80GB, on the board HGX-H100/H200-8GPU
    "#]].assert_eq(&said(&look(HGX_H100.files, &moved, &known)));
}

#[test]
fn what_kernel_and_library_say_differently_is_told() {
    change(
        HGX_H100,
        "driver 570.133.20",
        "driver 570.86.15",
        expect![[r#"
        + contradiction: the driver is 570.133.20 as the kernel says, and 570.86.15 as NVML does
    "#]],
    );
    change(
        NVL72_TRAY,
        "fabric 2 state 3 status 0",
        "fabric 2 state 2 status 0",
        expect![[r#"
            + unknown: which NVLink fabric the GPU at 0018:01:00.0 will be in: it is still joining
        "#]],
    );
    change(
        NVL72_TRAY,
        "fabric 2 state 3 status 0",
        "fabric 2 state 3 status 999",
        expect![[r#"
            + unknown: which NVLink fabric the GPU at 0018:01:00.0 will be in: joining failed with 999 (Unknown Error)
        "#]],
    );
    change(
        NVL72_TRAY,
        "fabric 2 state 3 status 0 clique 32766",
        "fabric 2 state 3 status 0 clique 1",
        expect![[r#"
            + contradiction: the GPU at 0009:01:00.0 is in clique 32766 of the NVLink fabric 3f98e277-4cbd-47ad-9c90-a9587403e430, and the one at 0018:01:00.0 in clique 1 of the NVLink fabric 3f98e277-4cbd-47ad-9c90-a9587403e430
        "#]],
    );
    let given = CARDS.says.replace(":23:", ":22:");
    expect![[r#"
        gpu: {product: L40S-48GB, board: PCIe}
        gpus: 4
        gpuPci: ["0000:22:00.0", "0000:23:00.0", "0000:42:00.0", "0000:43:00.0"]
        gpuIommuGroups: [9, 9, 14, 15]
        gpuNumaNodes: [0, 0, 0, 0]
        gpu 2 mig unknown
        inferred: GPUs are numbered in the order of their PCI addresses: they are cards without a board that joins them, whatever their module ids ([1, 1])
        inferred: 7 of the functions name no NUMA node; the node has only 0
        unknown: nothing here says the container toolkit's version
        contradiction: NVML has the GPU at 0000:22:00.0, and sysfs shows it with driver vfio-pci
        contradiction: the driver has the GPU at 0000:23:00.0, and NVML does not know it
        inferred: 4 GPUs with id 10de:26b9 are called L40S-48GB, on the board PCIe
    "#]].assert_eq(&said(&look(CARDS.files, &given, &Known::default())));
}

#[test]
fn a_document_that_somebody_contradicts_is_not_whole() {
    let other = HGX_H100.says.replace("driver 570.133.20", "driver 570.86.15");
    let found = look(HGX_H100.files, &other, &Known::default()).unwrap();
    assert!(!found.document(&"found".parse().unwrap()).is_whole());
}
