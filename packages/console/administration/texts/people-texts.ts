import { type FieldTexts, FOR_DEVELOPERS, PICTURE } from '../field-texts.ts';

const ROLE = { label: 'Role', help: 'What the person may do. You can give what you have yourself.' };

export const PERSON_TEXTS: FieldTexts = {
  name: { label: 'Name' },
  email: { label: 'Email', help: 'The invitation goes to this address. Each person has their own.' },
  role_id: ROLE,
  ...PICTURE,
  ...FOR_DEVELOPERS,
};

export const CLAIM_TEXTS: FieldTexts = {
  email: { label: 'Email', help: 'The address with which the person will sign in.' },
  role_id: ROLE,
  name: { label: 'Name', help: 'Empty: the name stays as it was imported.' },
};

export const ERASE_TEXTS: FieldTexts = {
  messages: {
    label: 'Messages',
    help: 'Keep: what the person wrote stays, by “Deleted user”. Remove: the texts go too, and their places stay.',
  },
};

export const ROLE_TEXTS: FieldTexts = {
  name: { label: 'Name' },
  permissions: { label: 'Permissions', help: 'You can give what you have yourself.' },
};

export const GROUP_TEXTS: FieldTexts = {
  name: { label: 'Name', help: 'Customers see it as the sender of answers.' },
  members: { label: 'Members', help: 'People and agents, in the order in which they are shown.' },
  ...PICTURE,
  ...FOR_DEVELOPERS,
};

export const CUSTOMER_TEXTS: FieldTexts = {
  name: { label: 'Name' },
  email: { label: 'Email', help: 'It can be added where there is none, and not changed.' },
  ...FOR_DEVELOPERS,
};

export const KEY_TEXTS: FieldTexts = {
  name: { label: 'Name', help: 'What the key is for.' },
  role_id: { label: 'Role', help: 'What programs with this key may do.' },
  expires_at: { label: 'Expires', help: 'Empty: the key works until it is revoked.' },
};

export const PROVIDER_TEXTS: FieldTexts = {
  name: { label: 'Name', help: 'People see it on the page to sign in.' },
  issuer: {
    label: 'Issuer',
    help: 'The address of the provider, exactly as it stands in its tokens: https://login.example.com',
  },
  audience: { label: 'Audience', help: 'The names under which the provider issues tokens for Parley.' },
  person: { label: 'Who signs in', help: 'People of the team, or customers.' },
  provision: {
    label: 'People who are not here yet',
    help: 'Off: they are refused. First use: they are added when they sign in first.',
  },
  role_id: { label: 'Role', help: 'The role of people of the team who are added.' },
  client_id: {
    label: 'Client ID',
    help: 'With it people sign in on the pages of this server. The provider gives it to you.',
  },
  client_secret: { label: 'Client secret', help: 'It comes with the client ID, and is never shown again.' },
  jwks_url: {
    label: 'Address of the keys',
    help: 'Where the public keys of the provider are read. Give this, the keys themselves, or a shared secret.',
  },
  jwks: { label: 'Keys', help: 'The public keys themselves, as JSON.' },
  secret: { label: 'Shared secret', help: 'At least 32 characters. It is never shown again.' },
  algorithms: { label: 'Algorithms', help: 'Empty: the usual ones.', isForDevelopers: true },
  claims: { label: 'Claims', help: 'Where a token says who it is about.', isForDevelopers: true },
  'claims.subject': { label: 'Subject', help: 'Empty: sub.' },
  'claims.name': { label: 'Name', help: 'Empty: name.' },
  'claims.email': { label: 'Email', help: 'Empty: email.' },
  subject: {
    label: 'What a subject names',
    help: 'Own: a person that the provider alone knows. External ID: the person with that external ID.',
    isForDevelopers: true,
  },
};
