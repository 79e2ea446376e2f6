/** The texts in German of `en.ts`, in its order and as long. The words are those of `../de.ts`. */

import type { AdministrationTexts } from './administration-texts.ts';

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

  sections: {
    groups: { people: 'Personen', access: 'Zugang', agents: 'Agenten', channels: 'Kanäle', data: 'Daten' },
    administration: 'Verwaltung',
    newWord: 'neu',
    newOne: (one) => `Neu: ${one}`,
    delete: 'Löschen',
    people: {
      title: 'Personen',
      one: 'Person',
      about: 'Wer in diesem Konto arbeitet, mit welcher Rolle, und wo diese Personen angemeldet sind.',
      mailInvitation: 'Einladung per E-Mail senden',
      invitationMailed: (email, end) => `Die Einladung ist an ${email} unterwegs. Sie gilt bis ${end}.`,
      linkInvitation: 'Einladung als Link',
      invitationLinked: (end) => `Geben Sie der Person den Link. Er meldet einmal an und gilt bis ${end}.`,
      deactivate: 'Deaktivieren',
      deactivateWarning:
        'Die Person wird überall abgemeldet und kann sich erst nach erneuter Aktivierung wieder anmelden.',
      activate: 'Aktivieren',
      claim: 'Zuordnen',
      export: 'Exportieren',
      erase: 'Daten löschen',
      eraseWarning:
        'Name, Adresse und Bild der Person werden endgültig entfernt. Das kann nicht rückgängig gemacht werden.',
      endSessions: 'Alle Sitzungen beenden',
      endSessionsWarning: 'Alle Token der Person verlieren ihre Gültigkeit, auf jedem Gerät.',
      sessions: 'Sitzungen',
      endSession: 'Beenden',
      endSessionWarning: 'Das Gerät wird abgemeldet.',
    },
    roles: {
      title: 'Rollen',
      one: 'Rolle',
      about: 'Was Personen, Schlüssel und Agenten dürfen.',
      deleteWarning: 'Die Rolle wird entfernt. Das kann nicht rückgängig gemacht werden.',
    },
    teams: {
      title: 'Gruppen',
      one: 'Gruppe',
      about:
        'Teams, die Fälle erhalten, denen sie zugewiesen werden und unter deren Namen Kunden Antwort bekommen.',
      deleteWarning: 'Die Gruppe wird entfernt. Das kann nicht rückgängig gemacht werden.',
      members: 'Mitglieder',
    },
    customers: {
      title: 'Kunden',
      one: 'Kunde',
      about: 'Personen außerhalb des Kontos, die ihm schreiben.',
      block: 'Blockieren',
      blockWarning: 'Was der Kunde schreibt, wird abgelehnt, bis die Blockierung aufgehoben ist.',
      unblock: 'Blockierung aufheben',
    },
    keys: {
      title: 'API-Schlüssel',
      one: 'Schlüssel',
      about: 'Zugangsdaten von Programmen.',
      rotate: 'Erneuern',
      rotateWarning: 'Ein neuer Schlüssel tritt an die Stelle von diesem.',
      revoke: 'Widerrufen',
      revokeWarning:
        'Programme, die den Schlüssel verwenden, werden sofort abgelehnt. Das kann nicht rückgängig gemacht werden.',
    },
    inboxes: {
      title: 'E-Mail-Postfächer',
      one: 'Postfach',
      about: 'Adressen, deren E-Mails zu Fällen werden.',
      deleteWarning: 'E-Mails an die Adresse kommen nicht mehr an.',
    },
    complaints: {
      title: 'E-Mail-Beschwerden',
      one: 'Beschwerde',
      about: 'Adressen, deren Inhaber eine E-Mail als Spam gemeldet haben. Sie erhalten keine Antworten.',
      lift: 'Aufheben',
      liftWarning:
        'Antworten werden wieder an die Adresse gesendet. Tun Sie das nur, wenn die Person darum gebeten hat.',
    },
    audit: {
      title: 'Audit',
      one: 'Ereignis',
      about: 'Was von wem getan wurde, in einer Kette, in der Änderungen auffallen.',
    },
    account: {
      title: 'Konto',
      one: 'Konto',
      about: 'Name, Tarif und Einstellungen dieses Kontos.',
    },
  },

  webhooks: {},

  widgets: {},
};
