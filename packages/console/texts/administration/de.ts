/** The texts in German of `en.ts`, in its order and as long. The words are those of `../de.ts`. */

import type { AdministrationTexts } from '../console-texts.ts';

export const texts: AdministrationTexts = {
  administration: {},

  agents: {},

  compliance: {},

  customerCards: {},

  identity: {
    added: (name) => `${name} wurde hinzugefügt.`,
    invited: (name, email, end) =>
      `${name} wurde hinzugefügt. Eine Einladung ist an ${email} unterwegs; sie gilt bis ${end}.`,
    invitationFailed: (name, reason) =>
      `${name} wurde hinzugefügt. Die Einladung ist fehlgeschlagen: ${reason}`,
    passLinkOn: (name, end) =>
      `${name} wurde hinzugefügt. Dieser Server versendet keine E-Mails: Geben Sie der Person diesen Link. Er meldet einmal an und gilt bis ${end}.`,
    title: 'Identitätsanbieter',
    one: 'Anbieter',
    about: 'Aussteller, deren Token akzeptiert werden und über die sich Personen anmelden.',
    delete: 'Löschen',
    deleteWarning: 'Token dieses Ausstellers werden sofort abgelehnt.',
  },

  import: {},

  installation: {},

  sections: {},

  webhooks: {},

  widgets: {},
};
