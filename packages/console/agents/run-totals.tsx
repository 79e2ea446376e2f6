import type { MoreProps } from '../administration/section.ts';
import { Link } from '../nav/link.tsx';

interface Step {
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly cost_usd: number | null;
}

/** The cost of a run, and its place. */
export function RunTotals({ item }: MoreProps) {
  const steps = (item.steps ?? []) as readonly Step[];
  const sum = (of: (step: Step) => number | null) =>
    steps.reduce((total, step) => total + (of(step) ?? 0), 0);
  const { conversation_id: conversation } = item;
  return (
    <section class="administration-part" aria-label="Totals">
      <h2>Totals</h2>
      <dl class="facts">
        <Total name="Cost" value={`$${sum(({ cost_usd }) => cost_usd).toFixed(4)}`} />
        <Total name="Tokens read" value={String(sum(({ input_tokens }) => input_tokens))} />
        <Total name="Tokens written" value={String(sum(({ output_tokens }) => output_tokens))} />
      </dl>
      {typeof conversation === 'string' && (
        <p>
          <Link to={{ main: { at: 'conversation', id: conversation }, pane: { shows: 'run', id: item.id } }}>
            Show it in its conversation
          </Link>
        </p>
      )}
    </section>
  );
}

function Total({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div class="facts-row">
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
