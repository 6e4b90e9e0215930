// YAML of an object and differences between two texts.

function scalar(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  const plain = /^[A-Za-z0-9_./-][A-Za-z0-9_./@ -]*$/.test(value) && !/^(true|false|null|yes|no|on|off|~|[\d.+-][\d.eE+_-]*)$/i.test(value);
  return plain && !value.endsWith(" ") ? value : JSON.stringify(value);
}

function write(value: unknown, indent: string, lines: string[], first: string): void {
  if (Array.isArray(value)) {
    for (const one of value) {
      if (typeof one === "object" && one !== null && !isEmpty(one)) write(one, `${indent}  `, lines, `${indent}- `);
      else lines.push(`${indent}- ${isEmpty(one) ? (Array.isArray(one) ? "[]" : "{}") : scalar(one)}`);
    }
    return;
  }
  let prefix = first;
  for (const [key, one] of Object.entries(value as object)) {
    const name = `${prefix}${scalar(key)}:`;
    prefix = indent;
    if (typeof one !== "object" || one === null) lines.push(`${name} ${scalar(one)}`);
    else if (isEmpty(one)) lines.push(`${name} ${Array.isArray(one) ? "[]" : "{}"}`);
    else {
      lines.push(name);
      write(one, Array.isArray(one) ? indent : `${indent}  `, lines, `${indent}  `);
    }
  }
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

// Lines of an object as YAML, without managed fields, which hide everything else.
export function toLines(object: Record<string, any>, withVersion = true): string[] {
  const { managedFields: _, ...metadata } = object.metadata ?? {};
  // It differs in every revision.
  if (!withVersion) delete metadata.resourceVersion;
  const lines: string[] = [];
  write({ ...object, metadata }, "", lines, "");
  return lines;
}

export interface DiffLine {
  mark: " " | "+" | "-";
  text: string;
}

// Lines of two texts with their differences, by the longest common subsequence.
export function diffLines(before: string[], after: string[]): DiffLine[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start++;
  let end = 0;
  while (end < before.length - start && end < after.length - start && before[before.length - 1 - end] === after[after.length - 1 - end]) end++;
  const old = before.slice(start, before.length - end);
  const fresh = after.slice(start, after.length - end);
  const same = (text: string): DiffLine => ({ mark: " ", text });
  return [...before.slice(0, start).map(same), ...diffMiddle(old, fresh), ...before.slice(before.length - end).map(same)];
}

function diffMiddle(old: string[], fresh: string[]): DiffLine[] {
  const width = fresh.length + 1;
  const lengths = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = fresh.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        old[i] === fresh[j] ? lengths[(i + 1) * width + j + 1] + 1 : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const found: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      found.push({ mark: " ", text: old[i++] });
      j++;
    } else if (i < old.length && (j >= fresh.length || lengths[(i + 1) * width + j] >= lengths[i * width + j + 1])) {
      found.push({ mark: "-", text: old[i++] });
    } else found.push({ mark: "+", text: fresh[j++] });
  }
  return found;
}

// Only lines near a difference; null stands for what is left out.
export function foldDiff(lines: DiffLine[], around = 3): (DiffLine | null)[] {
  const keep = new Set<number>();
  lines.forEach((line, index) => {
    if (line.mark !== " ") for (let near = index - around; near <= index + around; near++) keep.add(near);
  });
  const found: (DiffLine | null)[] = [];
  lines.forEach((line, index) => {
    if (keep.has(index)) found.push(line);
    else if (found.length && found[found.length - 1] !== null) found.push(null);
  });
  if (found.length && found[found.length - 1] === null) found.pop();
  return found;
}
