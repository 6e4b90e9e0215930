"""The checks of single sources, as persistent volumes use them too."""

import pytest

from mockkube.api.kinds.core.pod.volumes import sources


def says(errors):
    return [str(error).partition(" (e.g.")[0] for error in errors]


@pytest.mark.parametrize(
    ("check", "source", "complaints"),
    [
        pytest.param(sources.check_host_path, {}, ["s.path: Required value"], id="no path"),
        pytest.param(
            sources.check_host_path,
            {"path": "/a/../b", "type": "Odd"},
            [
                "s.path: Invalid value: \"/a/../b\": must not contain '..'",
                's.type: Unsupported value: "Odd": supported values: "", "BlockDevice", "CharDevice", "Directory", '
                '"DirectoryOrCreate", "File", "FileOrCreate", "Socket"',
            ],
            id="path that climbs, unknown type",
        ),
        pytest.param(
            sources.check_secret,
            {"defaultMode": 512, "items": [{"key": "k", "path": "..p"}]},
            [
                "s.secretName: Required value",
                "s.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive",
                "s.items[0].path: Invalid value: \"..p\": must not start with '..'",
            ],
            id="secret",
        ),
        pytest.param(
            sources.check_nfs,
            {"server": "s", "path": "a"},
            ['s.path: Invalid value: "a": must be an absolute path'],
            id="relative path of a server",
        ),
        pytest.param(
            sources.check_iscsi,
            {"targetPortal": "p", "iqn": "odd", "lun": 256, "chapAuthSession": True, "initiatorName": "eui.1"},
            [
                's.iqn: Invalid value: "odd": must be valid format starting with iqn, eui, or naa',
                "s.lun: Invalid value: 256: must be between 0 and 255, inclusive",
                "s.secretRef: Required value",
                's.initiatorname: Invalid value: "eui.1": must be valid format',
            ],
            id="iSCSI",
        ),
        pytest.param(
            sources.make_iscsi_volume_check("v" * 60),
            {"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2020-01.a.b:c", "initiatorName": "iqn.2020-01.a.b:c"},
            [
                's.targetportal: Invalid value: "10.0.0.1:3260": Total length of <volume name>:<iscsi.targetPortal> '
                "must be under 64 characters if iscsi.initiatorName is specified."
            ],
            id="iSCSI of a volume with a long name",
        ),
        pytest.param(
            sources.check_flocker,
            {"datasetName": "a/b", "datasetUUID": "u"},
            [
                's: Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously',
                "s.datasetName: Invalid value: \"a/b\": must not contain '/'",
            ],
            id="flocker",
        ),
        pytest.param(
            sources.check_quobyte,
            {"registry": "a"},
            [
                's.registry: Invalid value: "a": must be a host:port pair or multiple pairs separated by commas',
                "s.volume: Required value",
            ],
            id="quobyte",
        ),
        pytest.param(
            sources.check_fc,
            {"targetWWNs": ["w"], "wwids": ["w"]},
            [
                's.targetWWNs: Invalid value: ["w"]: targetWWNs and wwids can not be specified simultaneously',
                "s.lun: Required value: lun is required if targetWWNs is specified",
            ],
            id="fibre channel",
        ),
        pytest.param(
            sources.check_flex,
            {"driver": "d", "options": {"x.K8s.io/a": "b"}},
            ['s.options[x.K8s.io/a]: Invalid value: "x.K8s.io/a": kubernetes.io and k8s.io namespaces are reserved'],
            id="reserved option",
        ),
        pytest.param(
            sources.check_azure_disk,
            {"diskName": "d", "diskURI": "u", "kind": "Managed", "cachingMode": "Odd"},
            [
                's.cachingMode: Unsupported value: "Odd": supported values: "None", "ReadOnly", "ReadWrite"',
                's.diskURI: Unsupported value: "u": supported values: "/subscriptions/{sub-id}/resourcegroups/'
                '{group-name}/providers/microsoft.compute/disks/{disk-id}"',
            ],
            id="azure disk",
        ),
        pytest.param(
            sources.check_azure_file_persistent_volume,
            {"secretName": "s", "shareName": "s", "secretNamespace": ""},
            ["s.secretNamespace: Required value"],
            id="azure share without a namespace",
        ),
        pytest.param(
            sources.check_glusterfs_persistent_volume,
            {"endpoints": "e", "path": "p", "endpointsNamespace": ""},
            [
                's.endpointsNamespace: Invalid value: "": '
                "if the endpointnamespace is set, it must be a valid namespace name"
            ],
            id="glusterfs without a namespace",
        ),
        pytest.param(
            sources.check_cinder_persistent_volume,
            {"volumeID": "v", "secretRef": {"name": "s"}},
            ["s.secretRef.namespace: Required value"],
            id="secret without a namespace",
        ),
        pytest.param(
            sources.check_csi_persistent_volume,
            {"driver": "a" * 64, "nodeStageSecretRef": {}, "nodePublishSecretRef": {"name": "A"}},
            [
                "s.driver: Too long: may not be more than 63 bytes",
                "s.volumeHandle: Required value",
                's.nodePublishSecretRef.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower '
                "case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
                "s.nodePublishSecretRef.namespace: Required value",
            ],
            id="csi",
        ),
        pytest.param(
            sources.check_csi,
            {"driver": "D", "nodePublishSecretRef": {}},
            ["s.nodePublishSecretRef.name: Required value"],
            id="csi of a pod",
        ),
        pytest.param(
            sources.check_storage_os,
            {"volumeName": "a.b"},
            ['s.volumeName: Invalid value: "a.b": must not contain dots'],
            id="storageos",
        ),
        pytest.param(sources.check_local, {}, ["s.path: Required value"], id="local disk"),
        pytest.param(
            sources.check_git_repo,
            {"directory": "/a"},
            ["s.repository: Required value", 's.directory: Invalid value: "/a": must be a relative path'],
            id="checkout",
        ),
    ],
)
def test_a_source_is_told_what_is_wrong(check, source, complaints):
    assert says(check(source, "s")) == complaints
