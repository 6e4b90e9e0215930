module mockkube.dev/assets

go 1.22
