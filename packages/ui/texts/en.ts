/** The words of the components in English, a section for each folder, in alphabetical order. */
export const texts = {
  choices: {},
  data: {},
  feedback: {},
  files: {},
  form: {},
  /**
   * Words for names of the contract, which are made of the names themselves where they are not
   * here.
   */
  names: {} as Readonly<Record<string, string>>,
  overlays: {},
  text: {},
};
