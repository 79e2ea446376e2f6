import { Pane } from './pane.js';
import { openPerson, session } from './session.js';

const problem = document.querySelector('#problem');

try {
  const { conversations, agent } = await session();
  const hints = { [conversations.group]: ['@assistant Say hello.', '@assistant Create a summary.'] };
  const [ada, grace, carl] = await Promise.all(['ada', 'grace', 'carl'].map(openPerson));
  const panes = [
    new Pane(ada, { first: conversations.group, agentId: agent.id, hints }),
    new Pane(grace, { first: conversations.group, agentId: agent.id, hints: {} }),
    new Pane(carl, { first: conversations.case, hints: {} }),
  ];
  document.querySelector('#panes').append(...panes.map(({ root }) => root));
} catch (error) {
  problem.textContent = `The demo cannot start: ${error.message}`;
}
