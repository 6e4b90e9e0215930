// Explanation of a pod by its components, as `mockkube why` prints it (mockkube/explain/rendering.py).

export interface Explanation {
  state: string;
  fate: string;
  gone: boolean;
  deeds: string[];
  obstacle: { stage: string; component: string; reason: string; detail: string } | null;
  decision: string;
  node: string;
  nodes: { node: string; plugin: string; reasons: string[]; detail: string }[];
  notes: string[];
  whatIf: { kind: string; component: string; change: string; node: string; but: string }[];
}

const NODES_MAX = 5;

export function WhyReport({ report }: { report: Explanation }) {
  const { obstacle, deeds, notes, whatIf, nodes, gone, decision } = report;
  const waits = obstacle?.stage === "Scheduled";
  const ended = gone || ["evicted", "refused", "preempted"].includes(report.fate);
  return (
    <div class="why">
      <p>The pod {report.state}.</p>
      {deeds.map((one) => <p key={one}>{bold(one)}</p>)}
      {obstacle && <p><b>{gone ? "On that node now:" : "What stops it now:"}</b> {obstacle.component} {obstacle.reason}{obstacle.detail && ` (${obstacle.detail})`}</p>}
      {!obstacle && decision && !gone && deeds.length === 0 && <p>Nothing stops it: {report.node ? "it" : "a new pod like it would stay pending:"} {decision}.</p>}
      {notes.map((one) => <p key={one}><b>Note:</b> {one}</p>)}
      {waits && nodes.length > 0 && <Rejections nodes={nodes} />}
      {whatIf.length > 0 && (
        <>
          <h3>{whatIf.length === 1 ? "This change" : "One of these changes"} would {ended ? "have helped" : "help"}</h3>
          <ul class="remedies">
            {whatIf.slice(0, 12).map((one) => (
              <li key={one.kind + one.component + one.change + one.node}>
                <span class="badge">{one.kind}</span> {`${one.component} ${one.change}`.trim()} {one.node && <span class="soft small">({one.node})</span>}
                {one.but && <span class="soft small"> then: {one.but}</span>}
              </li>
            ))}
          </ul>
          {whatIf.length > 12 && <p class="soft small">and {whatIf.length - 12} more</p>}
        </>
      )}
      {whatIf.length === 0 && obstacle && <p>No single change that was tried would help.</p>}
    </div>
  );
}

// Sentences begin with what they are about: "Who: ...".
function bold(text: string) {
  const found = /^(\w[\w ]{0,20}:) (.*)$/s.exec(text);
  return found ? <><b>{found[1]}</b> {found[2]}</> : text;
}

// Why no node was chosen; nodes with the same reason are one line.
function Rejections({ nodes }: { nodes: Explanation["nodes"] }) {
  const groups = new Map<string, { plugin: string; text: string; names: string[] }>();
  for (const { node, plugin, reasons, detail } of nodes) {
    const text = [reasons.join(", "), detail].filter(Boolean).join(": ");
    const group = groups.get(`${plugin} ${text}`) ?? { plugin, text, names: [] };
    group.names.push(node);
    groups.set(`${plugin} ${text}`, group);
  }
  return (
    <>
      <h3>Why no node fits</h3>
      <ul class="remedies">
        {[...groups.values()].sort((a, b) => b.names.length - a.names.length).map(({ plugin, text, names }) => (
          <li key={plugin + text}>
            <b>{names.length === 1 ? names[0] : `${names.length} nodes`}</b> <span class="badge">{plugin}</span> {text}
            {names.length > 1 && <span class="soft small"> ({names.slice(0, NODES_MAX).join(", ")}{names.length > NODES_MAX && ", …"})</span>}
          </li>
        ))}
      </ul>
    </>
  );
}
