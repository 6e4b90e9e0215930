"""The API's resources: schemas per version, kinds, codec, selectors, validation, errors."""
