import { Pane } from './pane.js';
import { openPerson, session } from './session.js';

const problem = document.querySelector('#problem');

try {
  const { conversations, agent, names } = await session();
  const group = {
    key: 'group',
    id: conversations.group,
    title: 'Demo group',
    placeholder: 'Message the group',
    withApprovals: true,
  };
  const supportCase = {
    key: 'case',
    id: conversations.case,
    title: 'Where is my order?',
    placeholder: 'Answer Carl',
    toCustomer: true,
  };
  const mailCase = {
    key: 'mail',
    id: conversations.mail,
    title: 'A question by mail',
    placeholder: 'Answer Mona by mail',
    toCustomer: true,
  };
  const hints = ['@assistant Say hello.', '@assistant Create a summary.'];
  const team = { names, agentId: agent.id };
  const [ada, grace, carl] = await Promise.all(['ada', 'grace', 'carl'].map(openPerson));
  const panes = [
    new Pane(ada, { ...team, places: [{ ...group, hints }, supportCase, mailCase] }),
    new Pane(grace, { ...team, places: [group, supportCase, mailCase] }),
    new Pane(carl, {
      names,
      places: [{ ...supportCase, alone: true, toCustomer: false, placeholder: 'Write to Customer Service' }],
    }),
  ];
  document.querySelector('#panes').append(...panes.map(({ root }) => root));
} catch (error) {
  problem.textContent = `The demo cannot start: ${error.message}`;
}
