import type { UiTexts } from './ui-texts.ts';

export const texts: UiTexts = {
  choices: {},
  data: {},
  feedback: {},
  files: {},
  form: {},
  names: {},
  overlays: {},
  text: {},
};
