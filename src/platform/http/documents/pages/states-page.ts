import { STATE_MACHINES, type StateMachine } from '../../../../contract/protocol/states/state-machines.ts';
import type { Document } from '../documents.ts';
import { code, type Html, html, prose, table } from './html.ts';
import { pageOf } from './page.ts';

/** Every state machine, from the tables that the code runs. */
export function statesPage(): Document {
  return pageOf('states', {
    styles: ['prose.css'],
    main: html`<h1>States</h1>
<p>What may become of a resource, and when. A move that a table does not have answers 409
<a href="/docs/api/errors#resource_conflict"><code>resource_conflict</code></a>.</p>
${STATE_MACHINES.map(section)}`,
  });
}

function section({ field, about, moves }: StateMachine): Html {
  const rows = Object.entries(moves).map(([name, { from, to, when }]) => [
    html`${name.replaceAll('_', ' ')}`,
    html`${from.map((state) => html`${stateOf(state)}`)}`,
    stateOf(to),
    prose(when),
  ]);
  return html`<section id="${field}">
<h2><a href="#${field}"><code>${field}</code></a></h2>
<p>${prose(about)}</p>
${table(['Move', 'From', 'To', 'When'], rows)}
</section>`;
}

/** `none`: before the resource exists. */
function stateOf(state: string): Html {
  return state === 'none' ? html`<span class="nothing">nothing</span>` : code(state);
}
