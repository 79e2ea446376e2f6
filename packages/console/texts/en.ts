/**
 * The console's own texts in English: a section for each folder, in alphabetical order. It is one
 * long file so that a translator has all of them at once; `administration/` has those that are
 * loaded later.
 */

import { pluralOf } from '@parley/ui/text/plural.ts';
import { texts as ui } from '@parley/ui/texts/en.ts';
import type { ComponentChildren } from 'preact';

const plural = pluralOf('en');

export const texts = {
  composer: {},

  details: {},

  drafts: {},

  holds: {},

  inbox: {},

  mail: {},

  message: {},

  names: {},

  nav: {
    inbox: 'Inbox',
    work: 'Work',
    notifications: 'Notifications',
    search: 'Search',
    administration: 'Administration',
    installation: 'Installation',
    settings: 'Your settings',
  },

  notifications: {},

  runs: {},

  search: {},

  session: {
    connecting: 'Connecting…',
    signInTo: 'Sign in to Parley',
    providers: 'Identity providers',
    signInWith: (provider: string) => `Sign in with ${provider}`,
    demo: 'The demo account',
    demoCustomer: 'Customer, in a sample shop',
    useKey: 'Use an API key',
    account: 'Account',
    key: 'API key',
    keyStays: 'The key stays in the memory of this page, and is asked for again after a reload.',
    signIn: 'Sign in',
    invited: 'You are invited to Parley',
    invitedTo: (account: string) => `You are invited to ${account}`,
    invitedBy: (inviter: string, name: string, email: string) => `By ${inviter}, as ${name} (${email}).`,
    invitedAs: (name: string, email: string) => `${name} (${email}).`,
    invitationWorks: 'Your invitation signs this browser in. It works once.',
    accept: 'Accept the invitation',
    otherWay: 'Sign in another way',
    continue: 'Continue',
    notKept: 'This browser does not keep the session: it needs https, or this machine as its host.',
    answered: (status: number) => `The server answered ${status}.`,
    demoGone: 'The demo account is gone.',
    broken: 'The network of this page was broken on purpose.',
    over: 'The session of this browser has ended.',
  },

  shell: {
    signIn: 'Sign in',
    mend: 'Mend it',
    breakNetwork: 'Break the network for 30 seconds',
    waiting: (count: number) =>
      plural(count, { one: '# message waits to be sent.', other: '# messages wait to be sent.' }),
    broken: 'You have broken the network of this page.',
    signInToGoOn: 'Sign in to go on.',
    sessionEnded: 'Your session has ended',
    noNetwork: 'This device has no network.',
    delayed: 'Sending is delayed',
    live: 'Live',
    catchingUp: 'Catching up…',
    connecting: 'Connecting…',
    offline: 'Offline',
    reasons: {
      network: 'The server cannot be reached.',
      server_busy: 'The server is overloaded.',
      server_error: 'The server has failed.',
      url_source: 'The server cannot be reached.',
      url_rejected: 'The browser does not allow the connection.',
      token_source: 'The session cannot be continued.',
      credential_rejected: 'The session has ended. Sign in again.',
      account_rejected: 'The account cannot be used.',
      version_rejected: 'The server is of another version. Reload the page.',
      forbidden: 'You may not connect.',
      protocol: 'Page and server do not understand each other. Reload the page.',
      store: 'What waits may not survive a reload.',
    },
    keyboard: 'Keyboard shortcuts',
    welcome: 'Welcome',
    inbox: 'Inbox',
    noConversation:
      'You are in no conversation yet. Begin one with a colleague or a group, or wait until you are added to one: it then appears in the list.',
    begin: 'Begin a conversation',
    findPeople: 'Find people',
    findAny: 'Find a conversation or a person',
    nothingWaits: 'Everything is read, and nothing waits for you.',
    unread: (count: ComponentChildren): ComponentChildren => [count, ' unread'],
    waitsForYou: (count: ComponentChildren): ComponentChildren => [count, ' waiting for you'],
    withoutOwner: (count: number) => `, ${count} of them without an owner`,
    openCases: (count: number, shown: ComponentChildren): ComponentChildren => [
      shown,
      count === 1 ? ' open case of yours' : ' open cases of yours',
    ],
    notLoaded: 'This part of the console cannot be loaded.',
    reload: 'Reload the page',
    loading: 'Loading…',
    conversation: 'Conversation',
    settings: 'Your settings',
    profile: 'Profile',
    profileSaved: 'Your profile was saved.',
    changePicture: 'Change the picture',
    removePicture: 'Remove it',
    name: 'Name',
    save: 'Save',
    looks: 'Looks',
    themes: { system: 'As the device', light: 'Light', dark: 'Dark' },
    language: 'Language',
    languageOfBrowser: 'As the browser',
    connection: 'Connection',
    liveOver: (transport: string) => `Live, over ${transport}.`,
    notLive: 'Not live at the moment.',
    transports: { websocket: 'a WebSocket', stream: 'a stream', poll: 'polls' },
    plug: 'The plug below the list of conversations breaks the network of this page for a while, to show what happens then.',
    session: 'Session',
    signedInAs: (name: string, role: string, account: string) =>
      `Signed in as ${name} (${role}) at ${account}.`,
    noRole: 'no role',
    signOut: 'Sign out',
    skipToContent: 'Skip to the content',
    skipToField: 'Skip to the field',
    newConversation: 'New conversation',
    find: 'Find',
    console: 'Console',
    closePane: 'Close the pane',
    panes: { details: 'Details', thread: 'Thread', run: 'Run' },
    keys: {
      everywhere: 'Everywhere',
      find: 'Find a conversation, a person or a place',
      next: 'Open the next conversation, as Alt ↓ does also in a text',
      previous: 'Open the previous conversation, as Alt ↑ does also in a text',
      nextPart: 'Go to the next part of the page, with Shift to the previous one',
      note: 'Write a note in an open case, else begin a conversation',
      undo: 'Undo what the notice says, while it is shown',
      search: 'Search messages',
      help: 'Show this list',
      inConversation: 'In an open conversation',
      reply: 'Write a message; in a case to the customer',
      done: 'Resolve or reopen a case, archive any other conversation',
      snooze: 'Snooze, or end the snooze',
      assign: 'Assign a case',
      inList: 'In the list of conversations',
      down: 'Go down, as ↓ does',
      up: 'Go up, as ↑ does',
      open: 'Open the conversation',
      markRead: 'Mark as read or unread',
      snoozeRow: 'Snooze',
      mute: 'Mute or unmute',
      doneRow: 'Resolve or reopen a case, archive or unarchive another',
      select: 'Select the conversation; with Shift all since the last one',
      allActions: 'Show all actions',
      onMessage: 'On a message',
      above: 'Go to the message above',
      below: 'Go to the message below',
      react: 'React',
      through: 'Go through the links and buttons in it, with ← back',
      thread: 'Reply in the thread',
      edit: 'Edit',
      pin: 'Pin or unpin',
      forward: 'Forward',
      copy: 'Copy the link',
      markUnread: 'Mark unread from here',
      delete: 'Delete',
    },
    keyNames: { Ctrl: 'Ctrl', Delete: 'Delete', Enter: 'Enter', Shift: 'Shift' },
  },

  timeline: {},

  ui,

  work: {},

  writing: {},
};
