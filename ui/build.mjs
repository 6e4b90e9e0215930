// Builds the page into mockkube/ui/assets. The output depends on the sources and the lock file only.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync, copyFileSync } from "node:fs";
import { build } from "esbuild";

const target = process.argv[2] ?? "../mockkube/ui/assets";

await build({
  entryPoints: { app: "src/main.tsx" },
  outdir: target,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
});
await build({ entryPoints: { app: "src/style.css" }, outdir: target, bundle: true, minify: true });
for (const name of ["index.html", "icon.svg"]) copyFileSync(`src/${name}`, `${target}/${name}`);
writeFileSync(`${target}/LICENSES.txt`, `The script contains Preact:\n\n${readFileSync("node_modules/preact/LICENSE")}`);
writeFileSync(`${target}/sources.sha256`, `${digestSources()}\n`);

// The digest of everything that decides about the output; a test compares it without node.
// Colors and type are shared with the reports.
function digestSources() {
  const names = [...readdirSync("src").map((name) => `src/${name}`), "build.mjs", "package-lock.json", "package.json", "tsconfig.json", "../mockkube/report/templates/tokens.css"];
  const digest = createHash("sha256");
  for (const name of names.sort()) digest.update(`${name}\0`).update(readFileSync(name)).update("\0");
  return digest.digest("hex");
}
