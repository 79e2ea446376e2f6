/** Sizes of a message (docs/contract.md#sizes). */
export const MESSAGE_LIMITS = {
  bodyCharacters: 40_000,
  attachments: 20,
  mentions: 50,
  cc: 50,
  clientMessageIdCharacters: 255,
  subjectCharacters: 998,
  urlCharacters: 2_048,
  redactionReasonCharacters: 500,
  rejectionReasonCharacters: 500,
} as const;
