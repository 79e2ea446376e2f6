import type { SdkArea } from '../../../src/api/documents/pages/sdk-reference.ts';

interface Area extends Omit<SdkArea, 'names'> {
  /** Files of packages/ whose names are in it, by the beginning of their path. */
  readonly of: readonly string[];
}

/** The areas of the reference in their order. A name is in the first area that has its file. */
export const AREAS: readonly Area[] = [
  {
    title: 'Connecting',
    about: 'One client for each signed-in person: it connects, and makes everything else.',
    of: [
      'client/connect.ts',
      'client/live/connection-status.ts',
      'client/client.ts',
      'client/events/client-events.ts',
      'client/link/source.ts',
      'client/link/activity.ts',
    ],
  },
  {
    title: 'Messages',
    about: 'What a timeline is made of, and what is sent.',
    of: [
      'client/events/conversation-feed.ts',
      'client/conversation/view/local-echo.ts',
      'client/conversation/view/timeline.ts',
      'client/rest/upload.ts',
    ],
  },
  {
    title: 'Conversations',
    about: 'An open conversation and its threads; pages of conversations, and what is done with one.',
    of: ['client/conversation/', 'client/rest/conversations.ts'],
  },
  {
    title: 'Inbox and notifications',
    about: 'The list of conversations and the own feed, which stay right by themselves; web push.',
    of: ['client/inbox/', 'client/notifications/', 'client/push/'],
  },
  {
    title: 'People and search',
    about: 'Names and pictures behind ids, presence, profiles, search.',
    of: ['client/people/', 'client/api.ts', 'protocol/resources/activity.ts'],
  },
  { title: 'Runs of agents', about: 'A run as it goes on, and what a person decides.', of: ['client/runs/'] },
  {
    title: 'Live objects',
    about: 'What is common to everything that stays up to date.',
    of: ['client/live/live-object.ts', 'client/live/loaded-object.ts'],
  },
  {
    title: 'Errors',
    about: 'The one class of error, and why a client is not connected.',
    of: ['client/errors/parley-error.ts', 'client/errors/client-error.ts'],
  },
  {
    title: 'Requests',
    about: 'Any request of the API, with the types of its body and answer.',
    of: ['client/rest/', 'client/link/call-scope.ts', 'client/link/requests.ts', 'protocol/lists.ts'],
  },
  {
    title: 'Transports',
    about: 'The ways to the server, and what an application may replace of the platform.',
    of: ['client/link/', 'client/timing/', 'client/errors/connection-end.ts'],
  },
  {
    title: 'Parts for a page',
    about: 'Timelines and composers for React: headless, and as plain components with a style sheet.',
    of: ['client/react/headless/', 'client/react/parts/', 'client/timeline/', 'client/writing/'],
  },
  { title: 'React', about: 'Hooks over the live objects.', of: ['client/react/'] },
  {
    title: 'React Native',
    about: 'What an app passes to connect: its state, and a storage for what is written offline.',
    of: ['client/native/'],
  },
  { title: 'useChat of the AI SDK', about: 'A run of an agent as a chat of the AI SDK.', of: ['client/ai/'] },
  {
    title: 'What is written offline',
    about: 'Messages that survive a reload.',
    of: ['client/store/', 'client/outbox/'],
  },
  { title: 'Resources', about: 'What answers and events are made of, and bodies.', of: ['wire.d.ts'] },
];

/** The area of types that signatures name and that no entry exports. */
export const UNLISTED: Omit<SdkArea, 'names'> = {
  title: 'Other types',
  about: 'Types that stand in signatures above. They cannot be imported by name.',
};

/** Tables of the contract, which are types in signatures, by the page that has them. */
export const ELSEWHERE: Readonly<Record<string, string>> = {
  Routes: '/docs',
  EVENTS: '/docs/socket',
  EventOf: '/docs/socket',
  EventName: '/docs/socket',
  COMMANDS: '/docs/socket',
  CommandFields: '/docs/socket',
  CommandResult: '/docs/socket',
  ERRORS: '/docs/api/errors',
};
