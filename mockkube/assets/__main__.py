"""Run an executable of the assets: its name, the settings it was written with, its arguments."""

import sys

from mockkube.assets.settings import AssetSettings


def main() -> int:
    """Run the executable that the command line names; return its exit code."""
    name, settings, *arguments = sys.argv[1:]
    if name == "etcd":
        from mockkube.assets import etcd

        return etcd.main(arguments)
    from mockkube.assets import kube_apiserver

    return kube_apiserver.main(arguments, AssetSettings.parse(settings))


if __name__ == "__main__":
    sys.exit(main())
