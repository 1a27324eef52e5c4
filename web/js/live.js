import { makeView } from "./view.js";
export const live = makeView;
