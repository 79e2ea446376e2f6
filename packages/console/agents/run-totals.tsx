import { costText, countText } from '@parley/ui/text/amounts.ts';
import type { MoreProps } from '../administration/section.ts';
import { Link } from '../nav/link.tsx';
import { texts } from '../texts/texts.ts';
import { type CountedStep, costOf } from './run-cost.ts';

/** The cost of a run, and its place. */
export function RunTotals({ item }: MoreProps) {
  const steps = (item.steps ?? []) as readonly CountedStep[];
  const sum = (of: (step: CountedStep) => number | null) =>
    steps.reduce((total, step) => total + (of(step) ?? 0), 0);
  const { conversation_id: conversation } = item;
  return (
    <section class="administration-part" aria-label={texts.agents.totals}>
      <h2>{texts.agents.totals}</h2>
      <dl class="facts">
        <Total name={texts.agents.cost} value={costText(costOf(item) ?? 0)} />
        <Total name={texts.agents.tokensRead} value={countText(sum(({ input_tokens }) => input_tokens))} />
        <Total
          name={texts.agents.tokensWritten}
          value={countText(sum(({ output_tokens }) => output_tokens))}
        />
      </dl>
      {typeof conversation === 'string' && (
        <p>
          <Link to={{ main: { at: 'conversation', id: conversation }, pane: { shows: 'run', id: item.id } }}>
            {texts.agents.showInConversation}
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
