"""Files that a cluster keeps: state directory, certificates, kubeconfigs."""
