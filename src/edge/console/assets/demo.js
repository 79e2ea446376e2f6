import { Pane } from './pane.js';
import { openPerson, session } from './session.js';

const problem = document.querySelector('#problem');

try {
  const { conversations } = await session();
  const { group, launch } = conversations;
  const asked = ['@assistant Say hello.', '@assistant Create a summary.'];
  const hints = { [group]: asked, ...(launch === null ? {} : { [launch]: asked }) };
  const [ada, grace, carl] = await Promise.all(['ada', 'grace', 'carl'].map(openPerson));
  const panes = [
    // Without the day of the demo account, which may not be written yet, both begin in the group.
    new Pane(ada, { first: launch ?? group, isTeam: true, hints }),
    new Pane(grace, { first: launch === null ? group : null, isTeam: true, hints: {} }),
    new Pane(carl, { first: conversations.case, isTeam: false, hints: {} }),
  ];
  document.querySelector('#panes').append(...panes.map(({ root }) => root));
} catch (error) {
  problem.textContent = `The demo cannot start: ${error.message}`;
}
