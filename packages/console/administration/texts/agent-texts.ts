import { texts } from '../../texts/texts.ts';
import { type FieldTexts, FOR_DEVELOPERS } from '../field-texts.ts';

const { agent, start } = texts.administration.fields;

export const AGENT_TEXTS: FieldTexts = {
  ...agent,
  role_id: { ...agent.role_id, isRequired: true },
  'config.tools.require_review': { ...agent['config.tools.require_review'], isOn: false },
  ...FOR_DEVELOPERS,
};

export const START_TEXTS: FieldTexts = start;
