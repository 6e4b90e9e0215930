"""Controllers of CertificateSigningRequests: approving, signing, cleaning."""
