"""Run an executable of the assets: its name, the settings it was written with, its arguments."""

import sys


def main() -> int:
    """Run the executable that the command line names; return its exit code."""
    name, settings, *arguments = sys.argv[1:]
    if name == "etcd":
        from mockkube.assets import etcd

        return etcd.main(arguments)
    # Not for etcd, which starts in half the time without these modules.
    from mockkube.assets import kube_apiserver
    from mockkube.assets.settings import AssetSettings

    return kube_apiserver.main(arguments, AssetSettings.parse(settings))


if __name__ == "__main__":
    sys.exit(main())
