/**
 * The console's own texts in German, in the order of `en.ts`, which is as long. The words: Gespräch
 * (conversation), Posteingang (inbox), Fall (case), Notiz (note), Entwurf (draft), Thread (thread),
 * Vorgang (run), Aufbewahrung (retention), Sperre (hold), Kunde (customer), Team (team), Zuständige
 * (owners of a case), zuweisen (assign), abschließen (resolve), wieder öffnen (reopen),
 * zurückstellen (snooze), stummschalten (mute), archivieren (archive), anheften (pin), reagieren
 * (react), erwähnen (mention), Konto (account), Rolle (role), Gruppe (group), Verwaltung
 * (administration), Freigabe (approval). People are addressed as Sie.
 */

import { pluralOf } from '@parley/ui/text/plural.ts';
import { texts as ui } from '@parley/ui/texts/de.ts';
import type { FirstTexts } from './console-texts.ts';

const plural = pluralOf('de');

export const texts: FirstTexts = {
  composer: {},

  details: {},

  drafts: {},

  holds: {},

  inbox: {},

  mail: {},

  message: {},

  names: {},

  nav: {
    inbox: 'Posteingang',
    work: 'Aufgaben',
    notifications: 'Benachrichtigungen',
    search: 'Suche',
    administration: 'Verwaltung',
    installation: 'Installation',
    settings: 'Ihre Einstellungen',
  },

  notifications: {},

  runs: {},

  search: {},

  session: {
    connecting: 'Verbindung wird hergestellt…',
    signInTo: 'Bei Parley anmelden',
    providers: 'Identitätsanbieter',
    signInWith: (provider) => `Mit ${provider} anmelden`,
    demo: 'Das Demokonto',
    demoCustomer: 'Kunde, in einem Beispielshop',
    useKey: 'API-Schlüssel verwenden',
    account: 'Konto',
    key: 'API-Schlüssel',
    keyStays:
      'Der Schlüssel bleibt im Speicher dieser Seite und wird nach dem erneuten Laden wieder abgefragt.',
    signIn: 'Anmelden',
    invited: 'Sie sind zu Parley eingeladen',
    invitedTo: (account) => `Sie sind zu ${account} eingeladen`,
    invitedBy: (inviter, name, email) => `Von ${inviter}, als ${name} (${email}).`,
    invitedAs: (name, email) => `${name} (${email}).`,
    invitationWorks: 'Ihre Einladung meldet diesen Browser an. Sie gilt einmal.',
    accept: 'Einladung annehmen',
    otherWay: 'Anders anmelden',
    continue: 'Weiter',
    notKept: 'Dieser Browser behält die Sitzung nicht: Dafür ist https nötig, oder dieser Rechner als Host.',
    answered: (status) => `Der Server hat mit ${status} geantwortet.`,
    demoGone: 'Das Demokonto gibt es nicht mehr.',
    broken: 'Das Netzwerk dieser Seite wurde absichtlich unterbrochen.',
    over: 'Die Sitzung dieses Browsers ist beendet.',
  },

  shell: {
    signIn: 'Anmelden',
    mend: 'Wiederherstellen',
    breakNetwork: 'Netzwerk für 30 Sekunden unterbrechen',
    waiting: (count) =>
      plural(count, {
        one: '# Nachricht wartet auf den Versand.',
        other: '# Nachrichten warten auf den Versand.',
      }),
    broken: 'Sie haben das Netzwerk dieser Seite unterbrochen.',
    signInToGoOn: 'Melden Sie sich an, um fortzufahren.',
    sessionEnded: 'Ihre Sitzung ist beendet',
    noNetwork: 'Dieses Gerät hat keine Netzwerkverbindung.',
    delayed: 'Der Versand verzögert sich',
    live: 'Live',
    catchingUp: 'Wird aktualisiert…',
    connecting: 'Verbindung wird hergestellt…',
    offline: 'Offline',
    reasons: {
      network: 'Der Server ist nicht erreichbar.',
      server_busy: 'Der Server ist überlastet.',
      server_error: 'Auf dem Server ist ein Fehler aufgetreten.',
      url_source: 'Der Server ist nicht erreichbar.',
      url_rejected: 'Der Browser lässt die Verbindung nicht zu.',
      token_source: 'Die Sitzung kann nicht fortgesetzt werden.',
      credential_rejected: 'Die Sitzung ist beendet. Melden Sie sich erneut an.',
      account_rejected: 'Das Konto kann nicht verwendet werden.',
      version_rejected: 'Der Server hat eine andere Version. Laden Sie die Seite neu.',
      forbidden: 'Sie dürfen sich nicht verbinden.',
      protocol: 'Seite und Server verstehen einander nicht. Laden Sie die Seite neu.',
      store: 'Noch nicht Gesendetes kann beim erneuten Laden verloren gehen.',
    },
    keyboard: 'Tastenkürzel',
    welcome: 'Willkommen',
    inbox: 'Posteingang',
    noConversation:
      'Sie sind noch in keinem Gespräch. Beginnen Sie eines mit einer Kollegin, einem Kollegen oder einer Gruppe, oder warten Sie, bis Sie zu einem hinzugefügt werden: Es erscheint dann in der Liste.',
    begin: 'Gespräch beginnen',
    findPeople: 'Personen finden',
    findAny: 'Gespräch oder Person finden',
    nothingWaits: 'Alles ist gelesen, und nichts wartet auf Sie.',
    unread: (count) => [count, ' ungelesen'],
    waitsForYou: (count) => [count, ' warten auf Sie'],
    withoutOwner: (count) => `, davon ${count} ohne Zuständige`,
    openCases: (count, shown) => [shown, count === 1 ? ' offener Fall von Ihnen' : ' offene Fälle von Ihnen'],
    notLoaded: 'Dieser Teil der Konsole kann nicht geladen werden.',
    reload: 'Seite neu laden',
    loading: 'Wird geladen…',
    conversation: 'Gespräch',
    settings: 'Ihre Einstellungen',
    profile: 'Profil',
    profileSaved: 'Ihr Profil wurde gespeichert.',
    changePicture: 'Bild ändern',
    removePicture: 'Entfernen',
    name: 'Name',
    save: 'Speichern',
    looks: 'Darstellung',
    themes: { system: 'Wie das Gerät', light: 'Hell', dark: 'Dunkel' },
    language: 'Sprache',
    languageOfBrowser: 'Wie der Browser',
    connection: 'Verbindung',
    liveOver: (transport) => `Live, über ${transport}.`,
    notLive: 'Zurzeit nicht live.',
    transports: { websocket: 'einen WebSocket', stream: 'einen Stream', poll: 'regelmäßige Abfragen' },
    plug: 'Der Stecker unter der Liste der Gespräche unterbricht das Netzwerk dieser Seite für eine Weile, um zu zeigen, was dann geschieht.',
    session: 'Sitzung',
    signedInAs: (name, role, account) => `Angemeldet als ${name} (${role}) bei ${account}.`,
    noRole: 'keine Rolle',
    signOut: 'Abmelden',
    skipToContent: 'Zum Inhalt springen',
    skipToField: 'Zum Eingabefeld springen',
    newConversation: 'Neues Gespräch',
    find: 'Finden',
    console: 'Konsole',
    closePane: 'Seitenbereich schließen',
    panes: { details: 'Details', thread: 'Thread', run: 'Vorgang' },
    keys: {
      everywhere: 'Überall',
      find: 'Gespräch, Person oder Ort finden',
      next: 'Nächstes Gespräch öffnen, wie Alt ↓ auch in einem Text',
      previous: 'Vorheriges Gespräch öffnen, wie Alt ↑ auch in einem Text',
      nextPart: 'Zum nächsten Teil der Seite, mit Umschalt zum vorherigen',
      note: 'Notiz in einem offenen Fall schreiben, sonst ein Gespräch beginnen',
      undo: 'Rückgängig machen, was der Hinweis nennt, solange er angezeigt wird',
      search: 'Nachrichten durchsuchen',
      help: 'Diese Liste anzeigen',
      inConversation: 'In einem offenen Gespräch',
      reply: 'Nachricht schreiben; in einem Fall an den Kunden',
      done: 'Fall abschließen oder wieder öffnen, jedes andere Gespräch archivieren',
      snooze: 'Zurückstellen oder das Zurückstellen beenden',
      assign: 'Fall zuweisen',
      inList: 'In der Liste der Gespräche',
      down: 'Nach unten, wie ↓',
      up: 'Nach oben, wie ↑',
      open: 'Gespräch öffnen',
      markRead: 'Als gelesen oder ungelesen markieren',
      snoozeRow: 'Zurückstellen',
      mute: 'Stummschalten oder Stummschaltung aufheben',
      doneRow: 'Fall abschließen oder wieder öffnen, anderes archivieren oder zurückholen',
      select: 'Gespräch auswählen; mit Umschalt alle seit dem letzten',
      allActions: 'Alle Aktionen anzeigen',
      onMessage: 'Auf einer Nachricht',
      above: 'Zur Nachricht darüber',
      below: 'Zur Nachricht darunter',
      react: 'Reagieren',
      through: 'Durch ihre Links und Schaltflächen, mit ← zurück',
      thread: 'Im Thread antworten',
      edit: 'Bearbeiten',
      pin: 'Anheften oder lösen',
      forward: 'Weiterleiten',
      copy: 'Link kopieren',
      markUnread: 'Ab hier als ungelesen markieren',
      delete: 'Löschen',
    },
    keyNames: { Ctrl: 'Strg', Delete: 'Entf', Enter: 'Eingabe', Shift: 'Umschalt' },
  },

  timeline: {},

  ui,

  work: {},

  writing: {},
};
