/** The words of the components in English: a section for each folder, in alphabetical order. */
export const texts = {
  choices: {
    searchEmoji: 'Search emoji',
    emojiNotLoaded: 'The emoji cannot be loaded.',
    loading: 'Loading…',
    /** The language of the words for emoji. */
    emojiLanguage: 'en',
    noEmoji: 'No emoji has this name.',
    found: 'Found',
    recent: 'Recent',
    /** The groups of emoji by the names that their data has, where it is not in the language. */
    emojiGroups: {} as Readonly<Record<string, string>>,
    nothingFound: 'Nothing was found.',
    searching: 'Searching…',
  },
  data: {
    nothingSet: 'Nothing is set.',
    actions: 'Actions',
    yes: 'Yes',
    no: 'No',
  },
  feedback: {
    dismiss: 'Dismiss',
    /**
     * By the code of a failure, words for it and for the message that comes with it, which is
     * English and stands alone where there are none.
     */
    failures: {} as Readonly<Record<string, (message: string) => string>>,
  },
  form: {
    forDevelopers: 'For developers',
    search: 'Search…',
    choose: 'Choose…',
    uploading: 'Uploading…',
    uploaded: (file: string) => `${file} is uploaded.`,
    remove: 'Remove',
    removeOne: (name: string) => `Remove ${name}`,
    entry: (place: number) => `entry ${place}`,
    name: 'Name',
    nameOf: (place: number, list: string) => `Name ${place} of ${list}`,
    valueOf: (place: number, list: string) => `Value ${place} of ${list}`,
    add: 'Add',
    addTo: (list: string) => `Add to ${list}`,
    isChosen: (option: string) => `${option}: yes`,
    area: 'Area',
    more: 'More',
    required: 'This is required.',
    notNumber: 'This must be a number.',
    notJson: 'This is not valid JSON.',
    notTime: 'This must be a time.',
    moment: 'One moment…',
    cancel: 'Cancel',
  },
  markdown: {
    task: 'Task',
    table: 'Table',
  },
  /**
   * Words for names of the contract, which are made of the names themselves where they are not
   * here.
   */
  names: {} as Readonly<Record<string, string>>,
  overlays: {
    cancel: 'Cancel',
    close: 'Close',
  },
  text: {
    skipped: (time: string) => `Clocks skip ${time}. Choose another time.`,
  },
};
