/** The words of the components in English, a section for each folder, in alphabetical order. */
export const texts = {
  choices: {},
  data: {},
  feedback: {},
  files: {},
  form: {},
  overlays: {},
  text: {},
};
