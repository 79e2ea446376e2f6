import type { InstallationCheck } from '@parley/protocol/resources/installation.ts';
import { Icon } from '@parley/ui/elements/icon.tsx';
import { sentenceOf } from '@parley/ui/form/labels.ts';
import { CircleCheck, TriangleAlert } from 'lucide';
import { texts } from '../texts/texts.ts';

/** The checks, with advice about each problem. Problems stand first. */
export function Checks({ checks }: { readonly checks: readonly InstallationCheck[] }) {
  const ill = checks.filter(({ state }) => state === 'attention');
  const well = checks.filter(({ state }) => state !== 'attention');
  return (
    <section aria-labelledby="installation-checks">
      <h2 id="installation-checks">{texts.installation.checks}</h2>
      <p role="status" class="installation-summary">
        {summaryOf(checks.length, ill)}
      </p>
      <ul class="installation-checks">
        {[...ill, ...well].map((check) => (
          <Check key={check.name} check={check} />
        ))}
      </ul>
    </section>
  );
}

function Check({ check: { name, state, message, docs_url } }: { readonly check: InstallationCheck }) {
  return (
    <li class="installation-check" data-state={state}>
      <Icon of={state === 'attention' ? TriangleAlert : CircleCheck} />
      <div>
        <a href={docs_url} target="_blank" rel="noopener">
          {sentenceOf(name)}
        </a>
        <span class="hidden-visually">
          {state === 'attention' ? texts.installation.needsAttention : ': '}
        </span>
        <p>{message}</p>
      </div>
    </li>
  );
}

function summaryOf(count: number, ill: readonly InstallationCheck[]): string {
  if (count === 0) return texts.installation.nothingKnown;
  if (ill.length === 0) return texts.installation.allWell;
  const names = ill.map(({ name }) => sentenceOf(name)).join(', ');
  return texts.installation.attention(names);
}
