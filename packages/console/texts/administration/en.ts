/**
 * The texts in English of the rooms that are loaded with the administration: a section for each
 * folder, in alphabetical order, all in one long file.
 */
export const texts = {
  administration: {},

  agents: {},

  compliance: {},

  customerCards: {},

  identity: {
    added: (name: string) => `${name} was added.`,
    invited: (name: string, email: string, end: string) =>
      `${name} was added. An invitation is on its way to ${email}, and ends on ${end}.`,
    invitationFailed: (name: string, reason: string) => `${name} was added. The invitation failed: ${reason}`,
    passLinkOn: (name: string, end: string) =>
      `${name} was added. This server sends no mail: give this link to the person. It signs in once, and ends on ${end}.`,
    title: 'Identity providers',
    one: 'provider',
    about: 'Issuers whose tokens are accepted, and by which people sign in.',
    delete: 'Delete',
    deleteWarning: 'Tokens of this issuer are refused at once.',
  },

  import: {},

  installation: {},

  sections: {},

  webhooks: {},

  widgets: {},
};
