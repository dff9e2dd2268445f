//! The special registers, one row each.

use crate::machine::code::Special;

/// Special registers that keep one value, with the width of their type.
const SPECIALS: &[(&str, u32, Special)] = &[
    ("%tid.x", 32, Special::Tid(0)),
    ("%tid.y", 32, Special::Tid(1)),
    ("%tid.z", 32, Special::Tid(2)),
    ("%ntid.x", 32, Special::Ntid(0)),
    ("%ntid.y", 32, Special::Ntid(1)),
    ("%ntid.z", 32, Special::Ntid(2)),
    ("%ctaid.x", 32, Special::Ctaid(0)),
    ("%ctaid.y", 32, Special::Ctaid(1)),
    ("%ctaid.z", 32, Special::Ctaid(2)),
    ("%nctaid.x", 32, Special::Nctaid(0)),
    ("%nctaid.y", 32, Special::Nctaid(1)),
    ("%nctaid.z", 32, Special::Nctaid(2)),
    ("%laneid", 32, Special::Laneid),
    ("%warpid", 32, Special::Warpid),
    ("%nwarpid", 32, Special::Nwarpid),
    ("%smid", 32, Special::Smid),
    ("%nsmid", 32, Special::Nsmid),
    ("%gridid", 64, Special::Gridid),
    ("%lanemask_eq", 32, Special::LanemaskEq),
    ("%lanemask_le", 32, Special::LanemaskLe),
    ("%lanemask_lt", 32, Special::LanemaskLt),
    ("%lanemask_ge", 32, Special::LanemaskGe),
    ("%lanemask_gt", 32, Special::LanemaskGt),
    ("%clusterid.x", 32, Special::Clusterid(0)),
    ("%clusterid.y", 32, Special::Clusterid(1)),
    ("%clusterid.z", 32, Special::Clusterid(2)),
    ("%nclusterid.x", 32, Special::Nclusterid(0)),
    ("%nclusterid.y", 32, Special::Nclusterid(1)),
    ("%nclusterid.z", 32, Special::Nclusterid(2)),
    ("%cluster_ctaid.x", 32, Special::ClusterCtaid(0)),
    ("%cluster_ctaid.y", 32, Special::ClusterCtaid(1)),
    ("%cluster_ctaid.z", 32, Special::ClusterCtaid(2)),
    ("%cluster_nctaid.x", 32, Special::ClusterNctaid(0)),
    ("%cluster_nctaid.y", 32, Special::ClusterNctaid(1)),
    ("%cluster_nctaid.z", 32, Special::ClusterNctaid(2)),
    ("%cluster_ctarank", 32, Special::ClusterCtarank),
    ("%cluster_nctarank", 32, Special::ClusterNctarank),
    ("%is_explicit_cluster", 1, Special::IsExplicitCluster),
    ("%dynamic_smem_size", 32, Special::DynamicSmemSize),
    ("%total_smem_size", 32, Special::TotalSmemSize),
];

/// The special register of a name, and its width.
pub(crate) fn special(name: &str) -> Option<(Special, u32)> {
    SPECIALS.iter().find(|(own, _, _)| *own == name).map(|(_, width, special)| (*special, *width))
}
