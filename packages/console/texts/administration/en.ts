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

  sections: {
    groups: { people: 'People', access: 'Access', agents: 'Agents', channels: 'Channels', data: 'Data' },
    administration: 'Administration',
    /** By these words, too, a section is found that makes new ones. */
    newWord: 'new',
    newOne: (one: string) => `New ${one}`,
    delete: 'Delete',
    people: {
      title: 'People',
      one: 'person',
      about: 'Who works in this account, with which role, and where they are signed in.',
      mailInvitation: 'Mail an invitation',
      invitationMailed: (email: string, end: string) =>
        `The invitation is on its way to ${email}. It ends on ${end}.`,
      linkInvitation: 'Invitation as a link',
      invitationLinked: (end: string) => `Give the link to the person. It signs in once, and ends on ${end}.`,
      deactivate: 'Deactivate',
      deactivateWarning: 'The person is signed out everywhere and cannot sign in until activated again.',
      activate: 'Activate',
      claim: 'Claim',
      export: 'Export',
      erase: 'Erase',
      eraseWarning: 'Name, address and picture of the person are removed for good. This cannot be undone.',
      endSessions: 'End all sessions',
      endSessionsWarning: 'All tokens of the person stop working, on every device.',
      sessions: 'Sessions',
      endSession: 'End',
      endSessionWarning: 'The device is signed out.',
    },
    roles: {
      title: 'Roles',
      one: 'role',
      about: 'What people, keys and agents may do.',
      deleteWarning: 'The role is removed. This cannot be undone.',
    },
    teams: {
      title: 'Groups',
      one: 'group',
      about: 'Teams that cases reach and are assigned to, and under whose name customers are answered.',
      deleteWarning: 'The group is removed. This cannot be undone.',
      members: 'Members',
    },
    customers: {
      title: 'Customers',
      one: 'customer',
      about: 'People outside of the account who write to it.',
      block: 'Block',
      blockWarning: 'What the customer writes is refused until the block is removed.',
      unblock: 'Unblock',
    },
    keys: {
      title: 'API keys',
      one: 'key',
      about: 'Credentials of programs.',
      rotate: 'Rotate',
      rotateWarning: 'A new key takes the place of this one.',
      revoke: 'Revoke',
      revokeWarning: 'Programs that use the key are refused at once. This cannot be undone.',
    },
    inboxes: {
      title: 'Mail inboxes',
      one: 'inbox',
      about: 'Addresses whose mail becomes cases.',
      deleteWarning: 'Mail to the address does not arrive any more.',
    },
    complaints: {
      title: 'Mail complaints',
      one: 'complaint',
      about: 'Addresses whose owners have called a mail spam. No reply is sent to them.',
      lift: 'Lift',
      liftWarning: 'Replies are sent to the address again. Do it only if the person has asked for it.',
    },
    audit: {
      title: 'Audit',
      one: 'event',
      about: 'What was done by whom, in a chain whose changes are noticed.',
    },
    account: {
      title: 'Account',
      one: 'account',
      about: 'Name, plan and settings of this account.',
    },
  },

  webhooks: {},

  widgets: {},
};
