import { type FieldTexts, FOR_DEVELOPERS, PICTURE } from '../field-texts.ts';

export const AGENT_TEXTS: FieldTexts = {
  name: { label: 'Name' },
  role_id: {
    label: 'Role',
    help: 'What the agent may do. Without a role it cannot run.',
    isRequired: true,
  },
  trigger_type: {
    label: 'What starts it',
    help: 'Chat: messages of conversations that it is in. Scheduled: the clock. Event: something that happens. Manual: a person. Each can also be started by hand.',
  },
  status: { label: 'Status', help: 'An inactive agent is not started.' },
  slug: { label: 'Short name', help: 'Small letters, digits and dashes: refund-helper. It stays as it is.' },
  category_code: { label: 'Category', help: 'Agents are listed by it: support, sales.' },
  description: { label: 'Description', help: 'What the agent is for.' },
  ...PICTURE,
  config: { label: 'How it works' },
  'config.system_prompt': {
    label: 'Instructions',
    help: 'What the agent is told before each conversation: who it is, what it does, what it must not do.',
  },
  'config.tier': {
    label: 'Class of models',
    help: 'Frontier for the hardest work, high for customers and planning, balanced for research, cheap for simple things. Empty: what fits the start.',
  },
  'config.temperature': {
    label: 'Temperature',
    help: 'From 0 to 1. Lower answers are more alike. Empty: as the model has it.',
  },
  'config.trigger_config': { label: 'Start', help: 'For agents that the clock or an event starts.' },
  'config.trigger_config.cron_schedule': {
    label: 'Schedule',
    help: 'Five fields of cron: 0 9 * * 1 is Mondays at nine. For scheduled agents.',
  },
  'config.trigger_config.timezone': { label: 'Time zone', help: 'Empty: UTC.' },
  'config.trigger_config.event_filters': { label: 'Events', help: 'For agents that events start.' },
  'config.tools': { label: 'Tools', help: 'What the agent can use beside its words.' },
  'config.tools.tool': { label: 'Tool' },
  'config.tools.require_review': {
    label: 'Each use waits for the approval of a person',
    isOn: false,
  },
  'config.tools.config_json': { label: 'Settings', help: 'As JSON, where the tool has any.' },
  'config.tools.sort_order': { label: 'Place', help: 'Lower comes first. Empty: as listed here.' },
  'config.endpoint_tool_slugs': {
    label: 'Actions in Parley',
    help: 'What the agent may do here by itself, such as sending messages. None are given unless you name them.',
  },
  'config.endpoint_tool_review': {
    label: 'Actions that wait for approval',
    help: 'The name of an action, and whether a person approves each use.',
  },
  ...FOR_DEVELOPERS,
};

export const START_TEXTS: FieldTexts = {
  input: { label: 'Input', help: 'What the agent works on, as JSON. It may be left empty.' },
};
