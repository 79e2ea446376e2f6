/** The server and the person, as `demo.json` of a server on the development machine has them. */
export const SERVER = {
  /** The address of the machine in the network of the phone. */
  url: 'http://192.168.0.2:8080',
  account: 'acc_…',
  /** The id of the person whose token it is. */
  actor: 'usr_…',
  conversation: 'cnv_…',
  /** An application asks its own backend for a token of the person who has signed in. */
  getToken: async () => 'eyJ…',
} as const;
