// Looks for violations of accessibility in reports: `node reports.mjs FILE...` prints them as JSON, by file.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { openBrowser } from "./browser.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const { context, page } = await openBrowser();
const found = {};
for (const path of process.argv.slice(2)) {
  await page.goto(pathToFileURL(path).href);
  await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
  await page.evaluate(AXE);
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    // All rules in one theme, and in the other those about colors.
    const options = { resultTypes: ["violations"], ...(colorScheme === "dark" ? { runOnly: ["color-contrast"] } : {}) };
    const { violations } = await page.evaluate((options) => globalThis.axe.run(document, options), options);
    for (const one of violations) {
      const nodes = one.nodes.map((node) => node.html).join(" | ");
      (found[basename(path)] ??= []).push(`${colorScheme}: ${one.id}: ${one.nodes.length}: ${nodes.slice(0, 400)}`);
    }
  }
}
await context.close();
console.log(JSON.stringify(found));
process.exit(0);
