"""What a campaign can be about: one folder, one object for each kind. Importing this registers ours."""

from cccount_dist.campaign.kind import register_kind
from cccount_dist.kinds.cluster.kind import ClusterKind
from cccount_dist.kinds.count.kind import CountKind
from cccount_dist.kinds.subcluster.kind import SubclusterKind

for _kind in (CountKind(), ClusterKind(), SubclusterKind()):  # the order of --help
    register_kind(_kind)
