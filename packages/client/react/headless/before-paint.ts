import { useEffect, useLayoutEffect } from 'react';

/** An effect before the page is painted. A server has neither; React 18 warns there of the one. */
export const useBeforePaint: typeof useLayoutEffect =
  typeof document === 'undefined' ? useEffect : useLayoutEffect;
